// The reference: a device with its own memory that runs every command at once, plainly, in double precision.
#pragma once
#include <memory>
#include <string>

#include "runtime/backend.h"

namespace tenon {
std::unique_ptr<Backend> open_host(const std::string& name, int threads);
}

// The CPU: a queue of commands, each cut into groups that a team of threads shares.
#pragma once
#include <memory>
#include <string>

#include "runtime/backend.h"

namespace tenon {
std::unique_ptr<Backend> open_cpu(const std::string& name, int threads);
}

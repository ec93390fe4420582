// Plans and counts, runs nothing. Its limits are whatever a test wants to see plans for; copying this folder is how a
// new backend starts.
#pragma once
#include <memory>
#include <string>

#include "runtime/backend.h"

namespace tenon {
std::unique_ptr<Backend> open_null(const std::string& name, int threads);
}

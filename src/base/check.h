// TENON_CHECK: for our own bugs. Throws Error(internal); users' mistakes throw Error with their own code.
#pragma once
#include "base/cat.h"
#include "tenon/error.h"

namespace tenon {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, const std::string& message);
}

#define TENON_CHECK(condition, ...)                                                              \
  do {                                                                                           \
    if (!(condition)) [[unlikely]]                                                               \
      ::tenon::check_failed(__FILE__, __LINE__, #condition, ::tenon::cat("" __VA_OPT__(, ) __VA_ARGS__)); \
  } while (false)

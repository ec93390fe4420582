// The Error that a call throws.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "tenon/error.h"

namespace tenon::testing {

// Fails the test when nothing is thrown.
template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(ErrorCode::internal, "nothing was thrown");
}

// Its text, or "no error".
template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "no error";
}

}  // namespace tenon::testing

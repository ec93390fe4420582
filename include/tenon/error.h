// Errors that reach the user. A message says what was asked, what was wrong with it and what would work.
#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tenon {

enum class ErrorCode {
  invalid_argument,  // a value outside what the call documents
  shape,             // shapes that do not fit together
  dtype,             // dtypes that do not fit together, or that the op does not take
  device,            // no such device, or tensors on different devices
  unsupported,       // understood, but not possible here; the message names what would work
  out_of_memory,     // asked, free and held are in the message
  io,                // the operating system refused: path and reason are in the message
  format,            // a file is not what it claims to be: path and offset are in the message
  context_length,    // more tokens than the context holds
  cancelled,         // the caller asked to stop
  state_lost,        // a State whose plan failed and that was not set again
  internal,          // a bug of ours
};

// Stable lower-case name ("shape", "out_of_memory"), for logs and JSON.
const char* to_string(ErrorCode code);

// What an error is about; every field may be empty.
struct ErrorContext {
  std::string op = {};       // "matmul"
  std::string dtypes = {};   // "f32, i32"
  std::string shapes = {};   // "[2,3], [4,5]"
  std::string device = {};   // "cpu"
  std::string path = {};     // file
  std::string tensor = {};   // tensor name within the file
  int64_t offset = -1;  // byte offset within the file
};

class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message, ErrorContext context = {})
      : std::runtime_error(message), code_(code), context_(std::move(context)) {}
  ErrorCode code() const { return code_; }
  const ErrorContext& context() const { return context_; }

 private:
  ErrorCode code_;
  ErrorContext context_;
};

}  // namespace tenon

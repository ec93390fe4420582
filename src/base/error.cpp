#include "tenon/error.h"

#include <string_view>

#include "base/check.h"

namespace tenon {

const char* to_string(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument: return "invalid_argument";
    case ErrorCode::shape: return "shape";
    case ErrorCode::dtype: return "dtype";
    case ErrorCode::device: return "device";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::out_of_memory: return "out_of_memory";
    case ErrorCode::io: return "io";
    case ErrorCode::format: return "format";
    case ErrorCode::context_length: return "context_length";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::state_lost: return "state_lost";
    case ErrorCode::internal: return "internal";
  }
  return "unknown";
}

void check_failed(const char* file, int line, const char* condition, const std::string& message) {
  std::string_view name = file;
  if (auto at = name.rfind("src/"); at != name.npos) name.remove_prefix(at);
  throw Error(ErrorCode::internal, cat("internal error at ", name, ":", line, ": ", condition,
                                       message.empty() ? "" : ": ", message, ". Please report this."));
}

}  // namespace tenon

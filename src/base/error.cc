#include "base/error.h"

namespace millrace {

int exit_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kContextLength: return 2;
    case ErrorCode::kNotFound:
    case ErrorCode::kUnsupported:
    case ErrorCode::kBadFile: return 3;
    case ErrorCode::kResourceExhausted: return 4;
    case ErrorCode::kCancelled: return 130;
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal: return 1;
  }
  return 1;
}

std::string_view to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid_argument";
    case ErrorCode::kContextLength: return "context_length_exceeded";
    case ErrorCode::kNotFound: return "not_found";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kBadFile: return "bad_file";
    case ErrorCode::kResourceExhausted: return "resource_exhausted";
    case ErrorCode::kCancelled: return "cancelled";
    case ErrorCode::kUnavailable: return "unavailable";
    case ErrorCode::kInternal: return "internal";
  }
  return "internal";
}

}  // namespace millrace

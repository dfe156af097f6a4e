#include "runtime/api/public_result.h"

#include <algorithm>

namespace millrace::runtime {
namespace {

api::ErrorCode public_code(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return api::ErrorCode::kInvalidArgument;
    case ErrorCode::kContextLength: return api::ErrorCode::kContextLength;
    case ErrorCode::kNotFound: return api::ErrorCode::kNotFound;
    case ErrorCode::kUnsupported: return api::ErrorCode::kUnsupported;
    case ErrorCode::kBadFile: return api::ErrorCode::kBadFile;
    case ErrorCode::kResourceExhausted: return api::ErrorCode::kResourceExhausted;
    case ErrorCode::kCancelled: return api::ErrorCode::kCancelled;
    case ErrorCode::kUnavailable: return api::ErrorCode::kUnavailable;
    case ErrorCode::kInternal: return api::ErrorCode::kInternal;
  }
  return api::ErrorCode::kInternal;
}

// Not a path, and no tensor's name.
bool is_flag(const std::string& param) {
  return std::ranges::all_of(param, [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; });
}

}  // namespace

api::Error public_error(const Error& error) {
  api::Error out{public_code(error.code), error.param, error.message};
  if (!is_flag(error.param)) return out;
  std::ranges::replace(out.field, '-', '_');
  if (out.message.starts_with(error.param)) out.message.replace(0, out.field.size(), out.field);
  return out;
}

}  // namespace millrace::runtime

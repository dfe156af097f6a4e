#include "engine/request.h"

namespace millrace::engine {

std::string_view to_string(FinishReason reason) noexcept {
  switch (reason) {
    case FinishReason::kNone: return "";
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kTimeout: return "timeout";
    case FinishReason::kError: return "error";
  }
  return "";
}

}  // namespace millrace::engine

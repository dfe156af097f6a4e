#include "engine/request.h"

#include <bit>

#include "base/sha256.h"

namespace millrace::engine {

std::string adapter_scope(const std::vector<AdapterUse>& adapters) {
  if (adapters.empty()) return {};
  Sha256 digest;
  for (const AdapterUse& use : adapters) {
    const std::string text = fmt::format("{} {:08x}\n", use.key, std::bit_cast<std::uint32_t>(use.scale));
    digest.update(std::as_bytes(std::span(text)));
  }
  return hex(digest.finish());
}

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

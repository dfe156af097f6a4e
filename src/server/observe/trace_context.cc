#include "server/observe/trace_context.h"

#include <algorithm>

namespace millrace::server::observe {
namespace {

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}
bool is_id(std::string_view text) { return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos; }

}  // namespace

std::optional<TraceContext> parse_trace_parent(std::string_view header) {
  constexpr std::size_t kLength = 55;  // 00-<32>-<16>-<2>; later versions may append "-..."
  if (header.size() < kLength || header[2] != '-' || header[35] != '-' || header[52] != '-') return std::nullopt;
  const std::string_view version = header.substr(0, 2), trace = header.substr(3, 32), span = header.substr(36, 16),
                         flags = header.substr(53, 2);
  if (!is_hex(version) || version == "ff" || !is_id(trace) || !is_id(span) || !is_hex(flags)) return std::nullopt;
  if (header.size() > kLength && (version == "00" || header[kLength] != '-')) return std::nullopt;
  const char last = flags[1];
  const int low = last <= '9' ? last - '0' : last - 'a' + 10;
  return TraceContext{.trace_id = std::string(trace), .span_id = std::string(span), .sampled = (low & 1) != 0};
}

}  // namespace millrace::server::observe

#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::server::observe {

// The caller's trace, as the W3C header `traceparent` says (https://www.w3.org/TR/trace-context/): ids in lower-case
// hex.
struct TraceContext {
  std::string trace_id;  // 32 digits, not all 0
  std::string span_id;   // 16 digits, not all 0: the caller's
  bool sampled = false;
};
// Nothing where the header is wrong: then it counts as absent.
std::optional<TraceContext> parse_trace_parent(std::string_view header);

}  // namespace millrace::server::observe

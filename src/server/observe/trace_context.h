#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace millrace::server::observe {

// The trace of a client, from the W3C header `traceparent` (https://www.w3.org/TR/trace-context/). Ids are in
// lower-case hex.
struct TraceContext {
  std::string trace_id;  // 32 digits, not all 0
  std::string span_id;   // 16 digits, not all 0; of the client's span
  bool sampled = false;
};
// Nothing where the header is wrong; a wrong header counts as absent.
std::optional<TraceContext> parse_trace_parent(std::string_view header);

}  // namespace millrace::server::observe

#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace millrace::server {

// Claude Code begins its system prompt with a line for Anthropic's accounts that changes with every turn,
//   x-anthropic-billing-header: cc_version=2.1.76.b57; cc_entrypoint=cli; cch=e90a5;
// so the prefix cache would find nothing after it. Returns the length of that line in bytes, with its line end, or 0 if
// `system` does not begin with it.
std::size_t billing_header_bytes(std::string_view system);

// Drops or restores that line once it was cut off. Thread-safe.
class BillingHeaders {
 public:
  explicit BillingHeaders(bool keep) : keep_(keep) {}
  // Puts `header` back in front of `system` if headers are kept; otherwise logs once that they are dropped. Does
  // nothing for an empty header.
  void settle(std::string_view header, std::string& system);

 private:
  const bool keep_;
  std::once_flag said_;
};

}  // namespace millrace::server

#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace millrace::server {

// Claude Code begins its system prompt with a line for Anthropic's accounts that changes with every turn,
//   x-anthropic-billing-header: cc_version=2.1.76.b57; cc_entrypoint=cli; cch=e90a5;
// so that nothing after it would be found in the cache. The bytes of that line at the beginning of `system`, its line
// end too; 0 where it begins with anything else.
std::size_t billing_header_bytes(std::string_view system);

// What becomes of that line, once it is cut off. Thread-safe.
class BillingHeaders {
 public:
  explicit BillingHeaders(bool keep) : keep_(keep) {}
  // Puts it back in front of `system` where it is to be kept, else says once in the log that it is not. "": no such
  // line.
  void settle(std::string_view header, std::string& system);

 private:
  const bool keep_;
  std::once_flag said_;
};

}  // namespace millrace::server

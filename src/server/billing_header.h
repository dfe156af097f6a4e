#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <string_view>

namespace millrace::server {

// Claude Code begins its system prompt with a billing header, a line for Anthropic's accounts that changes every turn:
//   x-anthropic-billing-header: cc_version=2.1.76.b57; cc_entrypoint=cli; cch=e90a5;
// In a prompt, the line would keep everything after it from being found in the prefix cache. This function returns the
// bytes of such a line at the beginning of `system`, with its line end; 0 where `system` begins otherwise.
std::size_t billing_header_bytes(std::string_view system);

// Decides what becomes of billing headers that were cut off system prompts. Thread-safe.
class BillingHeaders {
 public:
  // `keep`: settle() puts headers back.
  explicit BillingHeaders(bool keep) : keep_(keep) {}
  // With `keep`, puts `header` back in front of `system`; otherwise logs, once for all calls, that headers are left out
  // of prompts. Does nothing for an empty `header`.
  void settle(std::string_view header, std::string& system);

 private:
  const bool keep_;
  std::once_flag said_;
};

}  // namespace millrace::server

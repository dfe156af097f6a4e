#pragma once

#include <cstddef>
#include <string_view>

namespace millrace::server {

// Claude Code begins its system prompt with a line for Anthropic's accounts that changes with every turn,
//   x-anthropic-billing-header: cc_version=2.1.76.b57; cc_entrypoint=cli; cch=e90a5;
// so that nothing after it would be found in the cache. The bytes of that line at the beginning of `system`, its line
// end too; 0 where it begins with anything else.
std::size_t billing_header_bytes(std::string_view system);

}  // namespace millrace::server

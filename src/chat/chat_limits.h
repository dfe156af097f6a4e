#pragma once

#include <cstddef>

namespace millrace::chat {

// Limits of a request. A request beyond one is an error naming the field, the limit and the value.
struct ChatLimits {
  static constexpr std::size_t kMessages = 2048, kTools = 128, kDocuments = 1024;
  static constexpr std::size_t kToolCalls = 128, kParts = 1024;  // for each message
  static constexpr std::size_t kKwargs = 32, kKwargBytes = 4096;
  static constexpr int kArgumentsDepth = 40;  // nesting of arguments that are text
  static constexpr int kDepth = 48;           // nesting of a message, tool or document; less than TemplateLimits::depth
};

}  // namespace millrace::chat

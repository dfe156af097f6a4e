#pragma once

#include <cstddef>

namespace millrace::chat {

// Bounds on a request; one that exceeds them is refused with the field, the limit and what was found.
struct ChatLimits {
  static constexpr std::size_t kMessages = 2048, kTools = 128, kDocuments = 1024;
  static constexpr std::size_t kToolCalls = 128, kParts = 1024;  // of one message
  static constexpr std::size_t kKwargs = 32, kKwargBytes = 4096;
  static constexpr int kArgumentsDepth = 40;  // nesting of arguments given as text
  static constexpr int kDepth = 48;           // nesting of a message, tool or document; less than TemplateLimits::depth
};

}  // namespace millrace::chat

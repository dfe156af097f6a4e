// Any bytes as a chat template: compile gives a template or an error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view source(reinterpret_cast<const char*>(data), size);
  (void)millrace::chat::ChatTemplate::compile(source);
  return 0;
}

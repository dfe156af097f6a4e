// Any JSON as a chat request: variables or an error that names a field, for templates that take strings, parts, and
// each form of arguments. What comes out is accepted when it goes in again.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "chat/chat_request.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::chat;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto request = nlohmann::ordered_json::parse(input, nullptr, false);
  for (const ToolArguments arguments : {ToolArguments::kNone, ToolArguments::kObject, ToolArguments::kString}) {
    TemplateCapabilities capabilities;
    capabilities.tool_arguments = arguments;
    capabilities.content_parts = arguments == ToolArguments::kObject;
    capabilities.content_strings = capabilities.null_content = !capabilities.content_parts;
    const auto variables = chat_variables(request, capabilities);
    if (!variables && variables.error().param.empty()) std::abort();
    if (variables && !chat_variables(*variables, capabilities)) std::abort();
  }
  return 0;
}

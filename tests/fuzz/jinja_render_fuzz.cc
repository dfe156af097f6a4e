// A template, a zero byte, and JSON variables: rendering gives pieces or an error, whatever they are, within small
// limits.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/memory_env.h"
#include "chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t border = input.find('\0');
  const millrace::chat::TemplateLimits limits{20'000, 1 << 16, 1 << 14, 1000, 32};
  const auto compiled = millrace::chat::ChatTemplate::compile(input.substr(0, border), limits);
  if (!compiled) return 0;
  auto variables = nlohmann::ordered_json::object();
  if (border != input.npos) {
    const std::string_view json = input.substr(border + 1);
    if (json.size() > 1 << 14) return 0;
    auto parsed = nlohmann::ordered_json::parse(json, nullptr, false);
    if (parsed.is_object()) variables = std::move(parsed);
  }
  const millrace::MemoryEnv clock;  // stands still: the limit of steps must do
  const auto pieces = (*compiled)->render(variables, {"<s>", "</s>", "", 1'721'822'705, &clock});
  if (!pieces) return 0;
  std::size_t total = 0;
  for (const auto& piece : *pieces) total += piece.text.size();
  if (total > static_cast<std::size_t>(limits.output_bytes)) std::abort();
  return 0;
}

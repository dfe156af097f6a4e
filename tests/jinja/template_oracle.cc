// Reads JSON lines. {"conversations": [variables ...]} keeps them for what follows and answers null.
// {"template", "bos_token"?, "eos_token"?, "unix_time"?} renders it over each of them and answers with a list: of
// [[text, trusted] ...], or {"error": message, "code": name}. {"probe": template, ...} answers with its capabilities.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/memory_env.h"
#include "text/chat_template.h"

namespace {

using millrace::text::ChatTemplate;
using millrace::text::TemplateContext;
using Json = nlohmann::ordered_json;

Json error_json(const millrace::Error& error) {
  return {{"error", error.message}, {"code", millrace::to_string(error.code)}};
}

Json rendering(const ChatTemplate& chat_template, const Json& variables, const TemplateContext& context) {
  const auto pieces = chat_template.render(variables, context);
  if (!pieces) return error_json(pieces.error());
  Json out = Json::array();
  for (const auto& piece : *pieces) out.push_back(Json::array({piece.text, piece.trusted}));
  return out;
}

Json answer(const Json& request, const Json& conversations) {
  const millrace::MemoryEnv standing_clock;  // a busy machine must not change an answer
  const auto compiled = ChatTemplate::compile(request.at("template").get<std::string>());
  const TemplateContext context{.bos_token = request.value("bos_token", ""),
                                .eos_token = request.value("eos_token", ""),
                                .unix_time = request.value("unix_time", std::int64_t{0}),
                                .clock = &standing_clock};
  Json out = Json::array();
  for (const Json& variables : conversations) {
    out.push_back(compiled ? rendering(**compiled, variables, context) : error_json(compiled.error()));
  }
  return out;
}

}  // namespace

int main() {
  Json conversations = Json::array();
  for (std::string line; std::getline(std::cin, line);) {
    Json request = Json::parse(line);
    Json out;
    if (request.contains("conversations")) {
      conversations = std::move(request["conversations"]);
    } else {
      out = answer(request, conversations);
    }
    std::cout << out.dump() << std::endl;
  }
}

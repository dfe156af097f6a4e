// Reads JSON lines {"template", "variables", "bos_token"?, "eos_token"?, "unix_time"?} and writes, for each, a line
// {"pieces": [{"text", "trusted"}]} or {"error": message, "code": name}.

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "text/chat_template.h"

namespace {

using millrace::text::ChatTemplate;
using millrace::text::TemplateContext;
using Json = nlohmann::ordered_json;

Json error_json(const millrace::Error& error) {
  return {{"error", error.message}, {"code", millrace::to_string(error.code)}};
}

Json answer(const Json& request) {
  const auto compiled = ChatTemplate::compile(request.at("template").get<std::string>());
  if (!compiled) return error_json(compiled.error());
  TemplateContext context;
  context.bos_token = request.value("bos_token", "");
  context.eos_token = request.value("eos_token", "");
  context.unix_time = request.value("unix_time", std::int64_t{0});
  const auto pieces = (*compiled)->render(request.at("variables"), context);
  if (!pieces) return error_json(pieces.error());
  Json out = {{"pieces", Json::array()}};
  for (const auto& piece : *pieces) out["pieces"].push_back({{"text", piece.text}, {"trusted", piece.trusted}});
  return out;
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(Json::parse(line)).dump() << std::endl;
  }
}

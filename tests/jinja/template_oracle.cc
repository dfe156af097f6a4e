// Reads JSON lines and answers each with one. A request has "bos_token"?, "eos_token"?, "unix_time"?, and one of
//   "conversations": [variables ...]  kept for what follows; the answer is null
//   "template": source   a list with its rendering of each conversation: [[text, trusted] ...], or {"error", "code"}
//   "chat": source       the same, the conversations being requests as the OpenAI API spells them
//   "probe": source      the template's capabilities, or {"error", "code"}

#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "base/memory_env.h"
#include "chat/chat_format.h"

namespace {

using millrace::Error;
using millrace::Result;
using millrace::text::TextPiece;
using namespace millrace::chat;
using Json = nlohmann::ordered_json;

Json error_json(const Error& error) { return {{"error", error.message}, {"code", millrace::to_string(error.code)}}; }

Json pieces_json(const Result<std::vector<TextPiece>>& pieces) {
  if (!pieces) return error_json(pieces.error());
  Json out = Json::array();
  for (const auto& piece : *pieces) out.push_back(Json::array({piece.text, piece.trusted}));
  return out;
}

Json render_each(const std::string& source, const Json& conversations, const TemplateContext& context) {
  const auto compiled = ChatTemplate::compile(source);
  Json out = Json::array();
  for (const Json& variables : conversations) {
    out.push_back(compiled ? pieces_json((*compiled)->render(variables, context)) : error_json(compiled.error()));
  }
  return out;
}

Json chat_each(const std::string& source, const Json& requests, const TemplateContext& context) {
  const auto format = ChatFormat::load({{{"default", source}}}, context);
  Json out = Json::array();
  for (const Json& request : requests) {
    out.push_back(format ? pieces_json((*format)->render(request, context.unix_time)) : error_json(format.error()));
  }
  return out;
}

Json capabilities_json(const std::string& source, const TemplateContext& context) {
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return error_json(compiled.error());
  const auto found = probe(**compiled, context);
  if (!found) return error_json(found.error());
  static constexpr const char* kArguments[] = {"none", "object", "string", "either"};
  return {{"content_strings", found->content_strings},
          {"content_parts", found->content_parts},
          {"system_role", found->system_role},
          {"developer_role", found->developer_role},
          {"tools", found->tools},
          {"tool_results", found->tool_results},
          {"tool_arguments", kArguments[static_cast<int>(found->tool_arguments)]},
          {"parallel_tool_calls", found->parallel_tool_calls},
          {"null_content", found->null_content},
          {"empty_content", found->empty_content},
          {"text_and_reasoning", found->text_and_reasoning},
          {"documents", found->documents},
          {"generation_prompt", found->generation_prompt},
          {"thinking_switch", to_string(found->thinking_switch)},
          {"thinks_by_default", found->thinks_by_default},
          {"opened_thinking", found->opened_thinking},
          {"efforts", fmt::format("{}", fmt::join(found->efforts, " "))}};
}

Json answer(const Json& request, const Json& conversations) {
  static const millrace::MemoryEnv kStandingClock;  // a busy machine must not change an answer
  const TemplateContext context{.bos_token = request.value("bos_token", ""),
                                .eos_token = request.value("eos_token", ""),
                                .unix_time = request.value("unix_time", std::int64_t{0}),
                                .clock = &kStandingClock};
  if (request.contains("probe")) return capabilities_json(request["probe"].get<std::string>(), context);
  if (request.contains("chat")) return chat_each(request["chat"].get<std::string>(), conversations, context);
  return render_each(request.at("template").get<std::string>(), conversations, context);
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

// A conversation of ten turns, with and without tools and their calls, through the templates of some families: the
// time of one rendering of a compiled template, and of compiling it.
#include <benchmark/benchmark.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "chat/chat_format.h"

namespace millrace::text {
namespace {

using Json = nlohmann::ordered_json;

std::string source_of(const std::string& name) {
  std::ifstream file(std::string(MILLRACE_TEMPLATES) + "/" + name + ".jinja");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

Json request_of(bool with_tools) {
  Json messages = Json::array({{{"role", "system"}, {"content", "You answer in one sentence."}}});
  Json tools = Json::array();
  for (int turn = 0; turn < 10; ++turn) {
    messages.push_back({{"role", "user"}, {"content", "What is the weather in Paris, and is it warmer than in Rome?"}});
    if (with_tools && turn % 2 == 0) {
      const Json function = {{"name", "weather"}, {"arguments", R"({"city": "Paris", "unit": "celsius"})"}};
      const Json call = {{"id", "abcdefgh1"}, {"type", "function"}, {"function", function}};
      messages.push_back({{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}});
      messages.push_back({{"role", "tool"}, {"tool_call_id", "abcdefgh1"}, {"content", R"({"degrees": 21.5})"}});
    }
    messages.push_back({{"role", "assistant"}, {"content", "It is 21 degrees in Paris, three less than in Rome."}});
  }
  messages.erase(messages.size() - 1);
  if (with_tools) {
    const Json city = {{"type", "string"}, {"description", "The city."}};
    const Json parameters = {{"type", "object"}, {"properties", {{"city", city}}}, {"required", Json::array({"city"})}};
    const Json function = {{"name", "weather"}, {"description", "Weather of a city."}, {"parameters", parameters}};
    tools.push_back({{"type", "function"}, {"function", function}});
  }
  return {{"messages", messages}, {"tools", tools}};
}

const chat::TemplateContext kContext{.bos_token = "<s>", .eos_token = "</s>"};

void render(benchmark::State& state, const std::string& name, bool with_tools) {
  const auto format = chat::ChatFormat::load({{{"default", source_of(name)}}}, kContext);
  const Json request = request_of(with_tools);
  for (auto _ : state) {
    const auto pieces = (*format)->render(request, 0);
    if (!pieces) state.SkipWithError(pieces.error().message.c_str());
    benchmark::DoNotOptimize(pieces);
  }
}

void compile(benchmark::State& state, const std::string& name) {
  const std::string source = source_of(name);
  for (auto _ : state) benchmark::DoNotOptimize(chat::ChatTemplate::compile(source));
}

BENCHMARK_CAPTURE(render, chatml, "chatml", false);
BENCHMARK_CAPTURE(render, llama3_1, "llama3_1", false);
BENCHMARK_CAPTURE(render, llama3_1_tools, "llama3_1", true);
BENCHMARK_CAPTURE(render, qwen3, "qwen3", false);
BENCHMARK_CAPTURE(render, qwen3_tools, "qwen3", true);
BENCHMARK_CAPTURE(render, gpt_oss_tools, "gpt_oss", true);
BENCHMARK_CAPTURE(compile, qwen3, "qwen3");
BENCHMARK_CAPTURE(compile, gpt_oss, "gpt_oss");

}  // namespace
}  // namespace millrace::text

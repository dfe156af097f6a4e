// Which format a model has is known by its chat template.

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "chat/reasoning/reasoning_format.h"
#include "chat/tools/tool_format.h"

namespace millrace::chat {
namespace {

std::string template_named(const std::string& name) {
  std::ifstream file(std::string(MILLRACE_TEST_DATA) + "/../jinja/templates/" + name + ".jinja");
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_FALSE(text.str().empty()) << name;
  return text.str();
}

TEST(ToolFormats, AreKnownByTheirTemplates) {
  const std::pair<const char*, std::vector<const char*>> kFormats[] = {
      {"hermes",
       {"hermes_2_pro", "hermes_3", "qwen2_5", "qwen3", "qwen3_thinking", "qwq", "granite_4", "exaone4", "smollm3",
        "ernie4_5_thinking"}},
      {"qwen3_coder", {"qwen3_coder"}},
      {"glm45", {"glm4"}},
      {"llama3_json", {"llama3_1", "llama3_2_vision"}},
      {"llama4_pythonic", {"llama4"}},
      {"functionary_v2", {"functionary_v2"}},
      {"functionary_v3_1", {"functionary_v3_1", "llama3_3"}},
      {"functionary_v3", {"functionary_v3_2"}},
      {"mistral", {"mistral_v3", "mistral_v3_tekken", "mistral_v7", "mistral_v7_tekken", "mistral_v13_reasoning"}},
      {"granite", {"granite_3_0", "granite_3_2", "granite_3_3"}},
      {"phi4_mini_json", {"phi4_mini"}},
      {"deepseek_v3", {"deepseek_v2_5", "deepseek_v3", "deepseek_r1", "deepseek_r1_tools"}},
      {"deepseek_v31", {"deepseek_v3_1"}},
      {"kimi_k2", {"kimi_k2"}},
      {"command_r7b", {"command_r7b"}},
      {"openai", {"gpt_oss"}},
      {"seed_oss", {"seed_oss"}},
      {"apertus", {"apertus"}},
      {"olmo3", {"olmo3"}},
      {"nemotron", {"nemotron_super"}},
      {"nemotron_mini", {"nemotron_mini"}},
      {"jamba", {"hunyuan_dense"}},
      {"glm4", {"glm4_0414"}},
      {"command_r", {"command_r_tool_use"}},
      {"pythonic", {"gemma3_pythonic"}},
      {"granite_20b_fc", {"granite_20b_fc"}},
      {"muse_glimmer", {"muse_glimmer"}},
      {"hyperclovax", {"hyperclovax_think"}},
      {"",
       {"smollm2", "chatml", "llama2", "llama3", "gemma3", "phi4", "zephyr", "vicuna", "alpaca", "olmo2", "ernie4_5",
        "command_r"}},
  };
  for (const auto& [format, names] : kFormats) {
    for (const char* name : names) {
      const tools::ToolFormat* found = tools::recognise_tool_format(template_named(name));
      EXPECT_EQ(found == nullptr ? "" : found->name, format) << name;
    }
  }
}

TEST(ReasoningFormats, AreKnownByTheirTemplates) {
  const std::pair<const char*, std::vector<const char*>> kFormats[] = {
      {"deepseek_r1",
       {"deepseek_r1", "deepseek_v3_1", "qwen3", "qwen3_thinking", "qwq", "glm4", "granite_3_3", "exaone4",
        "nemotron_super", "smollm3", "phi4_reasoning"}},
      {"seed_oss", {"seed_oss"}},
      {"apertus", {"apertus"}},
      {"hunyuan", {"hunyuan_dense"}},
      {"ernie45", {"ernie4_5_thinking"}},
      {"mistral", {"mistral_v13_reasoning"}},
      {"", {"smollm2", "chatml", "llama3_1", "gemma3", "mistral_v7", "qwen2_5"}},
  };
  for (const auto& [format, names] : kFormats) {
    for (const char* name : names) {
      const reasoning::ReasoningFormat* found = reasoning::recognise_reasoning_format(template_named(name));
      EXPECT_EQ(found == nullptr ? "" : found->name, format) << name;
    }
  }
}

}  // namespace
}  // namespace millrace::chat

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
        "ernie4_5_thinking", "k_exaone"}},
      {"qwen3_coder", {"qwen3_coder"}},
      {"mimo", {"mimo_v2"}},
      {"glm45", {"glm4_5", "glm4_7", "laguna_xs_2", "laguna_2_1"}},
      {"minimax_m2", {"minimax_m2"}},
      {"hy_v3", {"hy_v3"}},
      {"hy_v3_preview", {"hy_v3_preview"}},
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
      {"jamba", {"hunyuan_dense", "hunyuan_a13b"}},
      {"glm4", {"glm4_0414"}},
      {"command_r", {"command_r_tool_use"}},
      {"pythonic", {"gemma3_pythonic"}},
      {"granite_20b_fc", {"granite_20b_fc"}},
      {"muse_glimmer", {"muse_glimmer"}},
      {"hyperclovax", {"hyperclovax_think"}},
      {"",
       {"smollm2", "chatml", "llama2", "llama3", "gemma3", "phi4", "zephyr", "vicuna", "alpaca", "olmo2", "ernie4_5",
        "command_r", "qwen2", "mistral_v1", "phi3_5_moe", "dots1"}},
  };
  for (const auto& [format, names] : kFormats) {
    for (const char* name : names) {
      const tools::ToolFormat* found = tools::recognise_tool_format(template_named(name));
      EXPECT_EQ(found == nullptr ? "" : found->name, format) << name;
    }
  }
}

// Templates of models whose own are not among the files, by what marks their calls.
TEST(ToolFormats, AreKnownByWhatTheirTemplatesWrite) {
  const std::pair<const char*, std::string> kMarks[] = {
      {"solar_open", "{{ '<|tool_calls|><|tool_call:begin|>' + call.id + '<|tool_call:name|>' + call.name }}"},
      {"hy_v3", "<tool_call:opensource>f<tool_sep:opensource>"},
      {"hermes", "<|im_start|>assistant\n<think>\n<tool_call>\n{\"name\": \"f\"}\n</tool_call>"},
      {"hermes", "You are MiMo. <tool_call>\n{\"name\": \"f\"}\n</tool_call>"},
  };
  for (const auto& [format, text] : kMarks) {
    const tools::ToolFormat* found = tools::recognise_tool_format(text);
    EXPECT_EQ(found == nullptr ? "" : found->name, format) << text;
  }
}

TEST(ReasoningFormats, AreKnownByTheirTemplates) {
  const std::pair<const char*, std::vector<const char*>> kFormats[] = {
      {"deepseek_r1",
       {"deepseek_r1", "deepseek_v3_1", "qwen3", "qwen3_thinking", "qwq", "glm4_5", "granite_3_3", "exaone4",
        "nemotron_super", "smollm3", "phi4_reasoning", "glm4_7", "minimax_m2", "mimo_v2", "k_exaone", "laguna_xs_2",
        "laguna_2_1", "hy_v3_preview"}},
      {"seed_oss", {"seed_oss"}},
      {"apertus", {"apertus"}},
      {"hunyuan", {"hunyuan_dense", "hunyuan_a13b"}},
      {"hy_v3", {"hy_v3"}},
      {"ernie45", {"ernie4_5_thinking"}},
      {"mistral", {"mistral_v13_reasoning"}},
      {"",
       {"smollm2", "chatml", "llama3_1", "gemma3", "mistral_v7", "qwen2_5", "qwen3_coder", "ernie4_5", "dots1",
        "llama4", "phi3_5_moe", "gpt_oss"}},
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

#include "server/reasoning_fields.h"

#include <algorithm>

#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;

constexpr const char* kEfforts[] = {"none", "minimal", "low", "medium", "high", "xhigh"};

// What a template may call an effort, the nearest first. Where it takes any word, three are in use.
struct EffortWords {
  std::string_view effort;
  std::vector<std::string_view> words;
  const char* usual;
};

std::string template_effort(const std::string& effort, const std::vector<std::string>& known) {
  static const EffortWords kWords[] = {{"none", {"none", "no_think", "minimal", "low"}, "low"},
                                       {"minimal", {"minimal", "low"}, "low"},
                                       {"low", {"low", "minimal"}, "low"},
                                       {"medium", {"medium", "high", "low"}, "medium"},
                                       {"high", {"high", "max"}, "high"},
                                       {"xhigh", {"xhigh", "max", "high"}, "high"}};
  const auto* const row = std::ranges::find(kWords, effort, &EffortWords::effort);
  for (const std::string_view word : row->words) {
    if (std::ranges::find(known, word) != known.end()) return std::string(word);
  }
  return row->usual;
}

}  // namespace

Result<void> read_effort(Fields& to, const std::string& name, const Json& value) {
  if (std::ranges::find(kEfforts, value) == std::end(kEfforts)) {
    return GenerationSchema::wrong_type(name, "none, minimal, low, medium, high or xhigh");
  }
  to.reasoning_effort = value.get<std::string>();
  return {};
}

void add_reasoning_fields(GenerationSchema& schema) {
  schema
      .field(
          "reasoning_effort",
          "Effort of reasoning: none, minimal, low, medium, high or xhigh, as far as the model's template has a switch",
          {{"enum", kEfforts}}, [](Fields& f, const Json& value) { return read_effort(f, "reasoning_effort", value); })
      .integer(
          "thinking_token_budget", [](Fields& f) -> auto& { return f.thinking_token_budget; }, 0,
          RequestLimits::kMaxTokens, "Max tokens of reasoning")
      .boolean(
          "include_reasoning", [](Fields& f) -> auto& { return f.include_reasoning; },
          "Whether the model's reasoning is returned")
      .boolean(
          "separate_reasoning", [](Fields& f) -> auto& { return f.separate_reasoning; },
          "Whether reasoning is returned apart from the content (SGLang's name)");
}

Json template_variables(const Fields& fields, const chat::TemplateCapabilities& capabilities) {
  Json variables = fields.chat_template_kwargs.is_null() ? Json::object() : fields.chat_template_kwargs;
  const std::string name(chat::to_string(capabilities.thinking_switch));
  if (name.empty() || !variables.is_object() || variables.contains(name)) return variables;
  if (capabilities.thinking_switch == chat::ThinkingSwitch::kReasoningEffort) {
    std::string effort = fields.reasoning_effort;
    if (effort.empty() && fields.thinking && !*fields.thinking) effort = "none";
    if (effort.empty() && fields.thinking && !capabilities.thinks_by_default) effort = "high";
    if (!effort.empty()) variables[name] = template_effort(effort, capabilities.efforts);
    return variables;
  }
  if (fields.thinking) {
    variables[name] = *fields.thinking;
  } else if (!fields.reasoning_effort.empty()) {
    variables[name] = fields.reasoning_effort != "none";
  }
  return variables;
}

}  // namespace millrace::server

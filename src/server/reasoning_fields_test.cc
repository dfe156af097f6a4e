// What a request says of reasoning, in the words of the model's template.

#include "server/reasoning_fields.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

using Efforts = std::vector<std::string>;

Json effort_for(const std::string& asked, Efforts known, std::optional<bool> thinking = std::nullopt,
                bool thinks_by_default = true) {
  GenerationFields fields;
  fields.reasoning_effort = asked;
  fields.thinking = thinking;
  chat::TemplateCapabilities capabilities;
  capabilities.thinking_switch = chat::ThinkingSwitch::kReasoningEffort;
  capabilities.thinks_by_default = thinks_by_default;
  capabilities.efforts = std::move(known);
  return template_variables(fields, capabilities);
}

TEST(ReasoningFields, EffortsAreThreeWordsWhereATemplateTakesAny) {
  EXPECT_EQ(effort_for("low", {}), (Json{{"reasoning_effort", "low"}}));
  EXPECT_EQ(effort_for("medium", {}), (Json{{"reasoning_effort", "medium"}}));
  EXPECT_EQ(effort_for("high", {}), (Json{{"reasoning_effort", "high"}}));
  EXPECT_EQ(effort_for("none", {}), (Json{{"reasoning_effort", "low"}}));
  EXPECT_EQ(effort_for("xhigh", {}), (Json{{"reasoning_effort", "high"}}));
  EXPECT_EQ(effort_for("", {}), Json::object());
}

TEST(ReasoningFields, EffortsAreTheNearestWordsThatATemplateKnows) {
  const Efforts hunyuan = {"no_think", "low", "high"}, solar = {"minimal", "low"};
  EXPECT_EQ(effort_for("none", hunyuan), (Json{{"reasoning_effort", "no_think"}}));
  EXPECT_EQ(effort_for("minimal", hunyuan), (Json{{"reasoning_effort", "low"}}));
  EXPECT_EQ(effort_for("medium", hunyuan), (Json{{"reasoning_effort", "high"}}));
  EXPECT_EQ(effort_for("none", solar), (Json{{"reasoning_effort", "minimal"}}));
  EXPECT_EQ(effort_for("high", solar), (Json{{"reasoning_effort", "high"}}));
}

TEST(ReasoningFields, ThinkingIsAnEffortWhereThereAreEffortsOnly) {
  const Efforts hunyuan = {"no_think", "low", "high"};
  EXPECT_EQ(effort_for("", hunyuan, true, false), (Json{{"reasoning_effort", "high"}}));
  EXPECT_EQ(effort_for("", hunyuan, false, false), (Json{{"reasoning_effort", "no_think"}}));
  EXPECT_EQ(effort_for("", {}, true), Json::object());
  EXPECT_EQ(effort_for("low", hunyuan, true, false), (Json{{"reasoning_effort", "low"}}));
}

}  // namespace
}  // namespace millrace::server

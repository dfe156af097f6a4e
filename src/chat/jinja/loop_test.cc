#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/memory_env.h"
#include "chat/chat_template.h"

namespace millrace::chat {
namespace {

using Json = nlohmann::ordered_json;

Result<std::vector<text::TextPiece>> render(std::string_view source, const Json& variables = Json::object()) {
  static const MemoryEnv standing_clock;  // so that steps, not the machine's load, end a loop
  const auto compiled = ChatTemplate::compile(source);
  if (!compiled) return compiled.error();
  return (*compiled)->render(variables, TemplateContext{.clock = &standing_clock});
}

std::string text(std::string_view source, const Json& variables = Json::object()) {
  const auto pieces = render(source, variables);
  if (!pieces) return "error: " + pieces.error().message;
  std::string out;
  for (const text::TextPiece& piece : *pieces) out += piece.text;
  return out;
}

testing::AssertionResult mentions(const std::string& message, std::string_view part) {
  if (message.find(part) != message.npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << message;
}

TEST(Loop, RecursionIsLimitedInDepth) {
  EXPECT_TRUE(mentions(text("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}"), "(depth)"));
  const std::string_view to_depth =
      "{% for x in [1] recursive %}{% if loop.depth < n %}{{ loop([1]) }}{% endif %}"
      "{{ loop.depth }};{% endfor %}";
  EXPECT_TRUE(text(to_depth, {{"n", 60}}).starts_with("60;59;"));
  EXPECT_TRUE(mentions(text(to_depth, {{"n", 70}}), "64 levels (depth)"));
}

TEST(Loop, RecursionAndMacrosShareTheLimitOfDepth) {
  EXPECT_TRUE(mentions(text("{% macro m(f) %}{{ f([1]) }}{% endmacro %}"
                            "{% for x in [1] recursive %}{{ m(loop) }}{% endfor %}"),
                       "(depth)"));
}

TEST(Loop, RecursionThatFansOutIsLimitedInSteps) {
  EXPECT_TRUE(mentions(text("{% for x in range(9) recursive %}{% if loop.depth < 50 %}{{ loop(range(9)) }}{% endif %}"
                            "{% endfor %}"),
                       "steps"));
}

TEST(Loop, RecursionKeepsTrustCharacterByCharacter) {
  const auto pieces = render("{% for x in tree recursive %}<{{ x.n }}{{ loop(x.c) }}>{% endfor %}",
                             {{"tree", {{{"n", "a"}, {"c", {{{"n", "b"}}}}}}}});
  ASSERT_TRUE(pieces.ok());
  std::string marked;
  for (const text::TextPiece& piece : *pieces) marked += (piece.trusted ? "+" : "-") + piece.text;
  EXPECT_EQ(marked, "+<-a+<-b+>>");
}

// The names around a recursive loop outlive the place where it stood.
TEST(Loop, MayBeCalledWhenItsBlockHasEnded) {
  EXPECT_EQ(text("{% set ns = namespace() %}{% with z = 7 %}{% for x in [1] recursive %}{% set ns.f = loop %}"
                 "{{ x }}{{ z }};{% endfor %}{% endwith %}{{ ns.f([2, 3]) }}{{ ns.f.last }}"),
            "17;27;37;True");
}

TEST(Loop, AMacroOfTheElseBranchKeepsItsNames) {
  EXPECT_EQ(text("{% set ns = namespace() %}{% for x in [] %}{% else %}{% set y = 'long enough for the heap' %}"
                 "{% macro m() %}{{ y }}{% endmacro %}{% set ns.m = m %}{% endfor %}{{ ns.m() }}"),
            "long enough for the heap");
}

TEST(Loop, IsOverWhenItIsLeft) {
  EXPECT_EQ(text("{% set ns = namespace() %}{% for x in [1, 2, 3] if x %}{% set ns.l = loop %}{% break %}{% endfor %}"
                 "{{ ns.l.index }}{{ ns.l.last }}{{ ns.l.length }}{{ ns.l.nextitem is defined }}"),
            "1True1False");
}

TEST(Loop, AConditionCannotAskForTheItemsItDecidesOn) {
  EXPECT_TRUE(mentions(text("{% set ns = namespace(l=none) %}{% for x in [1, 2, 3] if not ns.l or not ns.l.last %}"
                            "{% set ns.l = loop %}{% endfor %}"),
                       "the condition of a loop"));
}

TEST(Loop, LengthOfALongLoopCostsNoMoreThanItsItems) {
  EXPECT_EQ(text("{% for x in range(20000) %}{% if loop.revindex == loop.length %}{{ loop.length }}{% endif %}"
                 "{% endfor %}"),
            "20000");
}

}  // namespace
}  // namespace millrace::chat

#include "grammar/reference_matcher.h"

#include <gtest/gtest.h>

namespace millrace::grammar {
namespace {

TEST(ReferenceMatcher, TakesRecursionOnTheLeftAndThroughNothing) {
  Grammar g;
  const RuleId sum = g.declare("sum"), nothing = g.declare("nothing");
  g.define(nothing, g.choice({g.bytes(""), g.rule(sum)}));
  g.define(sum, g.choice({g.sequence({g.rule(nothing), g.rule(sum), g.bytes("+1")}), g.bytes("1")}));
  g.set_root(g.rule(sum));
  ReferenceMatcher matcher(g);
  EXPECT_TRUE(matcher.matches("1"));
  EXPECT_TRUE(matcher.matches("1+1+1"));
  EXPECT_TRUE(matcher.matches("11+1"));
  EXPECT_FALSE(matcher.matches("+1"));
  EXPECT_FALSE(matcher.matches("1+"));
}

TEST(ReferenceMatcher, CountsAndKnowsRulesThatAreNever) {
  Grammar g;
  const ExpressionId some = g.repeat(g.choice({g.bytes("ab"), g.bytes("a")}), 2, 3);
  g.set_root(g.choice({some, g.rule(g.declare("never"))}));
  ReferenceMatcher matcher(g);
  EXPECT_FALSE(matcher.matches("a"));
  EXPECT_TRUE(matcher.matches("aba"));
  EXPECT_TRUE(matcher.matches("ababab"));
  EXPECT_FALSE(matcher.matches("aaaa"));
}

TEST(ReferenceMatcher, ReadsTheSpellingsOfJsonStrings) {
  Grammar g;
  g.set_root(g.automaton(CharAutomaton::words({U"é\n", U"😀/"}), Spelling::kJsonString));
  ReferenceMatcher matcher(g);
  EXPECT_TRUE(matcher.matches("é\\n"));
  EXPECT_TRUE(matcher.matches("\\u00E9\\u000a"));
  EXPECT_TRUE(matcher.matches("😀\\/"));
  EXPECT_TRUE(matcher.matches("\\uD83d\\ude00/"));
  EXPECT_FALSE(matcher.matches("é\n"));
  EXPECT_FALSE(matcher.matches("\\ud83d/"));
}

}  // namespace
}  // namespace millrace::grammar

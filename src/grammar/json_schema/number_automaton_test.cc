#include "grammar/json_schema/number_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace millrace::grammar::json_schema {
namespace {

Decimal decimal(const std::string& text) { return Decimal::of(nlohmann::ordered_json::parse(text)); }

bool matches(const std::vector<CharAutomaton>& automata, const std::string& text) {
  const std::u32string characters(text.begin(), text.end());
  return std::ranges::any_of(automata, [&](const CharAutomaton& one) { return one.matches(characters); });
}

// Every text of up to five characters that is a number without exponent, and whether it is one of the types.
void expect_exact(const NumberFacts& facts, Types types) {
  WorkMeter meter;
  const auto automata = number_automata(facts, types, meter);
  ASSERT_TRUE(automata.ok()) << automata.error().message;
  std::vector<std::string> texts = {""};
  int fitting = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string text = texts[i];
    if (text.size() < 5) {
      for (const char c : std::string("-.01235")) texts.push_back(text + c);
    }
    const auto json = nlohmann::ordered_json::parse(text, nullptr, false);
    const bool pointed = text.find('.') != std::string::npos;
    bool fits = json.is_number() && number_fits(facts, decimal(text));
    if (types == kInteger) fits = fits && !pointed;
    if (types == kFraction) fits = fits && !decimal(text).fraction.empty();
    const bool matching = matches(*automata, text);
    // Multiples have no more digits behind the point than they need: 3.0 is left out.
    const bool may_be_left_out = !facts.multiples.empty() && pointed;
    EXPECT_TRUE(matching == fits || (may_be_left_out && fits)) << text;
    fitting += matching ? 1 : 0;
  }
  EXPECT_GT(fitting, 0);
}

NumberFacts between(const std::string& low, bool low_open, const std::string& high, bool high_open) {
  NumberFacts facts;
  if (!low.empty()) facts.at_least({decimal(low), low_open});
  if (!high.empty()) facts.at_most({decimal(high), high_open});
  return facts;
}

TEST(NumberAutomaton, AcceptsExactlyWhatLiesBetweenTheBounds) {
  for (const Types types : {kInteger, kNumber, kFraction}) {
    for (const bool open : {false, true}) {
      expect_exact(between("0", open, "", false), types);
      expect_exact(between("", false, "0", open), types);
      expect_exact(between("-2.3", open, "12", open), types);
      expect_exact(between("0.5", open, "1.05", open), types);
      expect_exact(between("-31", open, "-1.5", open), types);
      expect_exact(between("10", open, "2000", open), types);
    }
  }
}

TEST(NumberAutomaton, LeavesOutWhatIsExcluded) {
  NumberFacts facts = between("-5", false, "50", false);
  facts.excluded = {decimal("0"), decimal("1"), decimal("2.5"), decimal("10"), decimal("1")};
  for (const Types types : {kInteger, kNumber, kFraction}) expect_exact(facts, types);
}

TEST(NumberAutomaton, CountsMultiples) {
  for (const std::string multiple : {"1", "3", "7", "0.5", "0.25", "1.5"}) {
    for (const bool holds : {true, false}) {
      NumberFacts facts = between("-30", false, "", false);
      facts.multiples = {{decimal(multiple), holds}};
      expect_exact(facts, kNumber);
      const bool all_integers = multiple == "1" || multiple == "0.5" || multiple == "0.25";
      if (holds || !all_integers) expect_exact(facts, kInteger);
    }
  }
}

TEST(NumberAutomaton, HasNoTextWhereNothingLiesBetween) {
  WorkMeter meter;
  EXPECT_TRUE(number_automata(between("3", true, "4", true), kInteger, meter)->empty());
  EXPECT_TRUE(number_automata(between("3", false, "2", false), kNumber, meter)->empty());
  EXPECT_FALSE(number_automata(between("3", true, "4", true), kFraction, meter)->empty());
}

TEST(NumberAutomaton, TellsApartNumbersOfAnyLength) {
  WorkMeter meter;
  const auto automata =
      number_automata(between("9223372036854775807", false, "18446744073709551614", false), kInteger, meter);
  EXPECT_TRUE(matches(*automata, "9223372036854775807"));
  EXPECT_FALSE(matches(*automata, "9223372036854775806"));
  EXPECT_TRUE(matches(*automata, "18446744073709551614"));
  EXPECT_FALSE(matches(*automata, "18446744073709551615"));
}

}  // namespace
}  // namespace millrace::grammar::json_schema

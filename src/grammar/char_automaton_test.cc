#include "grammar/char_automaton.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <utility>

#include "grammar/char_nfa.h"

namespace millrace::grammar {
namespace {

using Words = std::vector<std::u32string>;

// Every string over these letters of at most that length.
Words all_strings(std::u32string_view letters, std::size_t most) {
  Words out = {U""};
  for (std::size_t from = 0, length = 0; length < most; ++length) {
    const std::size_t to = out.size();
    for (; from < to; ++from) {
      for (const char32_t letter : letters) out.push_back(out[from] + letter);
    }
  }
  return out;
}

const Words& samples() {
  static const Words all = all_strings(U"abc", 6);
  return all;
}

void expect_language(const CharAutomaton& automaton, const std::function<bool(const std::u32string&)>& fits) {
  for (const std::u32string& text : samples()) {
    ASSERT_EQ(automaton.matches(text), fits(text)) << std::string(text.begin(), text.end());
  }
}

bool holds(const std::u32string& text, const Words& words) {
  for (const auto& word : words) {
    if (text.find(word) != std::u32string::npos) return true;
  }
  return false;
}

Words random_words(std::mt19937& random) {
  Words out(random() % 5);
  for (auto& word : out) {
    word.resize(random() % 4);
    for (auto& letter : word) letter = U'a' + random() % 3;
  }
  return out;
}

CharAutomaton random_automaton(std::mt19937& random) {
  std::vector<CharAutomaton::State> states(1 + random() % 6);
  for (auto& state : states) {
    state.accepts = random() % 3 == 0;
    for (const char32_t letter : {U'c', U'a', U'b'}) {  // in any order
      if (random() % 3 == 0) continue;
      state.edges.push_back({letter, letter, static_cast<std::int32_t>(random() % states.size())});
    }
  }
  return CharAutomaton(std::move(states));
}

// What the class says of every automaton.
void expect_normalised(const CharAutomaton& automaton) {
  const auto& states = automaton.states();
  ASSERT_GE(states.size(), 1u);
  std::vector<bool> reached(states.size());
  reached[0] = true;
  for (const auto& state : states) {
    for (std::size_t i = 0; i < state.edges.size(); ++i) {
      const auto& edge = state.edges[i];
      ASSERT_LE(edge.first, edge.last);
      ASSERT_LE(edge.last, kLastCodePoint);
      reached[static_cast<std::size_t>(edge.target)] = true;
      if (i == 0) continue;
      ASSERT_LT(state.edges[i - 1].last, edge.first);
      ASSERT_FALSE(state.edges[i - 1].last + 1 == edge.first && state.edges[i - 1].target == edge.target);
    }
  }
  for (const bool one : reached) ASSERT_TRUE(one);
}

TEST(CharAutomaton, HoldsExactlyItsWordsAndSharesTheirEnds) {
  const Words words = {U"abc", U"bbc", U"a", U""};
  const auto automaton = CharAutomaton::words(words);
  expect_language(automaton, [&](const auto& text) { return std::ranges::count(words, text) > 0; });
  EXPECT_EQ(automaton.states().size(), 5u);  // "", "a", "b", one for "ab" and "bb", one for both ends
  EXPECT_TRUE(CharAutomaton::words({}).empty());
  EXPECT_FALSE(CharAutomaton::words({U""}).empty());
}

TEST(CharAutomaton, AnyHoldsEverythingInOneState) {
  expect_language(CharAutomaton::any(), [](const auto&) { return true; });
  EXPECT_TRUE(CharAutomaton::any().matches(U"\U0010FFFF\0\n"));
  EXPECT_EQ(CharAutomaton::any().states().size(), 1u);
}

TEST(CharAutomaton, CountsCharacters) {
  expect_language(CharAutomaton::length(2, 4), [](const auto& text) { return text.size() >= 2 && text.size() <= 4; });
  expect_language(CharAutomaton::length(3, -1), [](const auto& text) { return text.size() >= 3; });
  expect_language(CharAutomaton::length(0, 0), [](const auto& text) { return text.empty(); });
}

TEST(CharAutomaton, FindsTheFirstOfTheWordsOrNone) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const Words words = random_words(random);
    expect_language(CharAutomaton::without(words), [&](const auto& text) { return !holds(text, words); });
    expect_normalised(CharAutomaton::until(words));
    if (words.empty()) continue;
    expect_language(CharAutomaton::until(words), [&](const auto& text) {
      return holds(text, words) && (text.empty() || !holds(text.substr(0, text.size() - 1), words));
    });
  }
  EXPECT_TRUE(CharAutomaton::until({}).matches(U"all"));
  EXPECT_TRUE(CharAutomaton::until({U"</a>"}).matches(U"\u00e9</</a</a>"));
}

TEST(CharAutomaton, OperationsAreThoseOfSets) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    const auto a = random_automaton(random), b = random_automaton(random);
    WorkMeter meter;
    expect_normalised(a);
    const auto both = a.intersect(b, meter), less = a.minus(b, meter), either = a.unite(b, meter);
    ASSERT_TRUE(both.ok() && less.ok() && either.ok());
    expect_language(*both, [&](const auto& text) { return a.matches(text) && b.matches(text); });
    expect_language(*less, [&](const auto& text) { return a.matches(text) && !b.matches(text); });
    expect_language(*either, [&](const auto& text) { return a.matches(text) || b.matches(text); });
    for (const auto* one : {&*both, &*less, &*either}) expect_normalised(*one);
    const auto chain = concatenate(a, b, meter);
    ASSERT_TRUE(chain.ok());
    expect_normalised(*chain);
    expect_language(*chain, [&](const std::u32string& text) {
      for (std::size_t cut = 0; cut <= text.size(); ++cut) {
        if (a.matches(text.substr(0, cut)) && b.matches(text.substr(cut))) return true;
      }
      return false;
    });
  }
}

TEST(CharAutomaton, IsEmptyWhenNothingIsLeft) {
  WorkMeter meter;
  EXPECT_TRUE(CharAutomaton::any().minus(CharAutomaton::any(), meter)->empty());
  EXPECT_TRUE(CharAutomaton::length(1, 2).intersect(CharAutomaton::length(3, 4), meter)->empty());
  // Surrogates are not left over: nothing but characters was there.
  std::vector<CharAutomaton::State> characters(2);
  characters[0].edges = {{0, kFirstSurrogate - 1, 1}, {kLastSurrogate + 1, kLastCodePoint, 1}};
  characters[1].accepts = true;
  const CharAutomaton one(characters);
  EXPECT_EQ(one.states()[0].edges.size(), 1u);
  EXPECT_TRUE(CharAutomaton::length(1, 1).minus(one, meter)->empty());
}

TEST(CharAutomaton, RefusesWhatTakesTooManyStates) {
  // The 20th character from the end is an 'a': 2^20 states.
  CharNfa nfa;
  const auto start = nfa.add_state();
  nfa.add_edge(start, 0, kLastCodePoint, start);
  auto last = nfa.add_state();
  nfa.add_edge(start, U'a', U'a', last);
  for (int i = 0; i < 19; ++i) {
    const auto next = nfa.add_state();
    nfa.add_edge(last, 0, kLastCodePoint, next);
    last = next;
  }
  WorkMeter meter;
  const auto made = nfa.determinised(start, last, meter);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, ErrorCode::kResourceExhausted);
}

TEST(CharNfa, TakesConditionalEdgesAtTheEndsOfTheTextOnly) {
  CharNfa nfa;  // a, but at the start; and nothing, at both ends
  const auto start = nfa.add_state(), inside = nfa.add_state(), end = nfa.add_state();
  nfa.add_edge(start, U'b', U'b', start);
  nfa.add_free_edge(start, inside, CharNfa::When::kAtTextStart);
  nfa.add_edge(inside, U'a', U'a', end);
  nfa.add_free_edge(inside, end, CharNfa::When::kAtTextEnd);
  nfa.add_edge(end, U'c', U'c', end);
  WorkMeter meter;
  const auto made = nfa.determinised(start, end, meter);
  ASSERT_TRUE(made.ok());
  expect_language(*made, [](const auto& text) {
    return text.empty() || (text[0] == U'a' && text.find_first_not_of(U'c', 1) == text.npos);
  });
}

}  // namespace
}  // namespace millrace::grammar

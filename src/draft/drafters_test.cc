#include <gtest/gtest.h>

#include "draft/acceptance.h"
#include "draft/drafter.h"
#include "draft/suffix_index.h"

namespace millrace::draft {
namespace {

std::vector<std::int32_t> propose(Drafter& drafter, const std::vector<std::int32_t>& tokens, std::int64_t most = 4,
                                  std::string_view scope = "", std::uint64_t sequence = 1) {
  std::vector<Task> tasks(1);
  tasks[0].sequence = sequence;
  tasks[0].scope = scope;
  tasks[0].tokens = tokens;
  tasks[0].most = most;
  drafter.draft(tasks);
  std::vector<std::int32_t> drafts;
  for (const Token& token : tasks[0].drafts) drafts.push_back(token.token);
  return drafts;
}

using Tokens = std::vector<std::int32_t>;

TEST(Drafters, AreFoundByNameAndListedWhereTheNameIsWrong) {
  EXPECT_TRUE(make_drafter("ngram"));
  const auto wrong = make_drafter("oracle");
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("ngram, suffix"), std::string::npos) << wrong.error().message;
}

TEST(Ngram, GoesOnAsAfterTheLongestMatchAndTheLastOfEqualOnes) {
  const auto drafter = make_drafter("ngram").or_throw();
  EXPECT_EQ(propose(*drafter, {1, 2, 3, 4, 9, 2, 3, 5, 6, 7, 8, 1, 2, 3}), (Tokens{4, 9, 2, 3}));
  EXPECT_EQ(propose(*drafter, {2, 3, 4, 4, 9, 2, 3, 5, 6, 7, 8, 2, 3}), (Tokens{5, 6, 7, 8}));
  EXPECT_TRUE(propose(*drafter, {1, 2, 3, 4, 5}).empty());
}

TEST(Ngram, GoesOnWithWhatItGuessedWhereTheTextRepeatsItself) {
  const auto drafter = make_drafter("ngram").or_throw();
  EXPECT_EQ(propose(*drafter, {5, 1, 2, 1, 2}, 7), (Tokens{1, 2, 1, 2, 1, 2, 1}));
  EXPECT_EQ(propose(*drafter, {7, 7, 7, 7}, 3), (Tokens{7, 7, 7}));
}

TEST(Ngram, NeedsAsManyTokensAlikeAsAreAskedFor) {
  EXPECT_TRUE(
      propose(*make_drafter("ngram", {.values = OptionValues().set("ngram_min", 3.0)}).or_throw(), {1, 2, 8, 9, 1, 2})
          .empty());
  EXPECT_FALSE(
      propose(*make_drafter("ngram", {.values = OptionValues().set("ngram_min", 1.0)}).or_throw(), {1, 5, 2, 9, 1})
          .empty());
  EXPECT_FALSE(make_drafter("ngram", {.values = OptionValues().set("ngram_min", 0.0)}));
  EXPECT_FALSE(make_drafter("ngram", {.values = OptionValues().set("ngram_min", 9.0).set("ngram_max", 8.0)}));
  EXPECT_FALSE(make_drafter("ngram", {.values = OptionValues().set("ngram_max", 65.0)}));
}

TEST(Suffix, GoesOnAsMostPlacesDo) {
  const auto drafter = make_drafter("suffix").or_throw();
  const Tokens text = {1, 2, 3, 4, 5, 9, 1, 2, 3, 7, 6, 8, 1, 2, 3, 7, 6, 9, 0, 1, 2, 3};
  EXPECT_EQ(propose(*drafter, text, 2), (Tokens{7, 6}));
}

TEST(Suffix, PrefersTheLongerMatch) {
  const auto drafter = make_drafter("suffix").or_throw();
  const Tokens text = {8, 1, 2, 3, 4, 4, 1, 2, 3, 7, 6, 5, 1, 2, 3, 7, 6, 9, 8, 1, 2, 3};
  EXPECT_EQ(propose(*drafter, text, 2), (Tokens{4, 4}));
}

TEST(Suffix, RemembersEndedAnswersOfTheSameScopeOnly) {
  const auto drafter = make_drafter("suffix").or_throw();
  drafter->ended(7, "tenant a", Tokens{11, 12, 13, 14, 15, 16});
  EXPECT_EQ(propose(*drafter, {9, 11, 12, 13}, 4, "tenant a"), (Tokens{14, 15, 16}));
  EXPECT_TRUE(propose(*drafter, {9, 11, 12, 13}, 4, "tenant b", 2).empty());
}

TEST(Suffix, ForgetsTheOldestWhenItsMemoryIsFull) {
  const auto drafter = make_drafter("suffix", {.values = OptionValues().set("suffix_tokens", 40.0)}).or_throw();
  drafter->ended(1, "a", Tokens{11, 12, 13, 14});
  drafter->ended(2, "b", Tokens{21, 22, 23, 24});
  for (int i = 0; i < 10; ++i) drafter->ended(3, "b", Tokens{31, 32, 33, 34, 35, 36});
  EXPECT_TRUE(propose(*drafter, {11, 12, 13}, 4, "a", 5).empty());
  EXPECT_TRUE(propose(*drafter, {21, 22, 23}, 4, "b", 6).empty());
  EXPECT_EQ(propose(*drafter, {31, 32, 33}, 4, "b", 7), (Tokens{34, 35, 36}));
}

// As text: where each branch leaves the draft, and what it goes on with.
std::vector<std::pair<std::int64_t, std::vector<std::int32_t>>> branches(Drafter& drafter,
                                                                         const std::vector<std::int32_t>& tokens,
                                                                         std::int64_t most,
                                                                         std::int64_t further_branches) {
  std::vector<Task> tasks(1);
  tasks[0].sequence = 1;
  tasks[0].tokens = tokens;
  tasks[0].most = most;
  tasks[0].further_branches = further_branches;
  drafter.draft(tasks);
  std::vector<std::pair<std::int64_t, std::vector<std::int32_t>>> found;
  for (const Branch& branch : tasks[0].branches) {
    found.emplace_back(branch.from, std::vector<std::int32_t>());
    for (const Token& token : branch.tokens) found.back().second.push_back(token.token);
  }
  return found;
}
using Branches = std::vector<std::pair<std::int64_t, Tokens>>;

TEST(Ngram, BranchesOffWhereTheTokensWentOnOtherwiseBefore) {
  const auto drafter = make_drafter("ngram").or_throw();
  const Tokens text = {2, 3, 9, 9, 8, 2, 3, 5, 7, 1, 4, 2, 3, 5, 6, 7, 2, 3};
  EXPECT_EQ(propose(*drafter, text), (Tokens{5, 6, 7, 2}));
  EXPECT_EQ(branches(*drafter, text, 4, 3), (Branches{{1, {7, 1, 4}}, {0, {9, 9, 8, 2}}}));
  EXPECT_EQ(branches(*drafter, text, 4, 1), (Branches{{1, {7, 1, 4}}}));
  EXPECT_EQ(branches(*drafter, text, 4, 0), Branches());
}

TEST(Suffix, BranchesOffWhereFewerPlacesGoOnAndWhereShorterSuffixesWere) {
  const auto drafter = make_drafter("suffix").or_throw();
  const Tokens text = {1, 2, 3, 4, 5, 9, 1, 2, 3, 7, 6, 8, 1, 2, 3, 7, 6, 9, 0, 1, 2, 3};
  EXPECT_EQ(propose(*drafter, text, 3), (Tokens{7, 6, 9}));
  EXPECT_EQ(branches(*drafter, text, 3, 3), (Branches{{0, {4, 5, 9}}, {2, {8}}}));
  const Tokens longer = {8, 1, 2, 3, 4, 4, 1, 2, 3, 7, 6, 5, 8, 1, 2, 3};
  EXPECT_EQ(branches(*make_drafter("suffix").or_throw(), longer, 2, 3), (Branches{{0, {7, 6}}}));
}

TEST(SuffixIndex, FindsWhatASearchOfTheWholeTextFinds) {
  SuffixIndex index;
  Tokens text;
  for (unsigned i = 0; i < 400; ++i) text.push_back(static_cast<std::int32_t>((i * i * 7 + i / 5) % 4));
  for (std::size_t n = SuffixIndex::kGram; n < text.size(); ++n) {
    const Tokens tail(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(n));
    index.append(std::span(tail).subspan(index.tokens().size()));
    std::int64_t longest = 0;
    for (std::size_t next = 1; next < n; ++next) {
      std::int64_t alike = 0;
      while (alike < SuffixIndex::kLongest && static_cast<std::size_t>(alike) < next &&
             text[next - 1 - static_cast<std::size_t>(alike)] == text[n - 1 - static_cast<std::size_t>(alike)]) {
        ++alike;
      }
      longest = std::max(longest, alike);
    }
    std::vector<SuffixIndex::Match> matches;
    index.find(tail, matches);
    const std::int64_t found = matches.empty() ? 0 : matches.front().alike;
    if (n < SuffixIndex::kChain) {
      ASSERT_EQ(found, longest >= SuffixIndex::kGram ? longest : 0) << n;
    }
    ASSERT_LE(found, longest);
  }
}

TEST(Acceptance, GoesFromWhatWasExpectedToWhatWasObservedAndFades) {
  Acceptance acceptance(100.0);
  EXPECT_DOUBLE_EQ(acceptance.rate(0.5f, 0.7, 4.0), 0.7);
  for (int i = 0; i < 50; ++i) acceptance.observe(0.5f, i % 2 == 0);
  EXPECT_NEAR(acceptance.rate(0.5f, 0.7, 4.0), 0.5, 0.02);
  EXPECT_DOUBLE_EQ(acceptance.rate(0.9f, 0.7, 4.0), 0.7);
  for (int i = 0; i < 300; ++i) acceptance.observe(0.5f, false);
  EXPECT_LT(acceptance.rate(0.5f, 0.7, 4.0), 0.06);
}

}  // namespace
}  // namespace millrace::draft

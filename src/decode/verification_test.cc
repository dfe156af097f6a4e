#include "decode/verification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "base/counter_rng.h"
#include "decode/draft_length.h"
#include "decode/testing/byte_grammar.h"
#include "decode/testing/chi_square.h"

namespace millrace::decode {
namespace {

constexpr std::size_t kVocab = 12;
constexpr int kDraws = 10000;
using Tokens = std::vector<std::int32_t>;

// A model whose row depends on the token before.
const std::vector<float>& row_after(std::int32_t token) {
  static const std::vector<std::vector<float>> rows = [] {
    std::mt19937 random(40);
    std::normal_distribution<float> normal(0.0f, 1.2f);
    std::vector<std::vector<float>> made(kVocab, std::vector<float>(kVocab));
    for (std::vector<float>& row : made) std::ranges::generate(row, [&] { return normal(random); });
    return made;
  }();
  return rows[static_cast<std::size_t>(token)];
}

SamplingParams target_params(bool greedy = false) {
  SamplingParams params;
  params.temperature = greedy ? 0.0 : 0.9;
  params.top_p = 0.95;
  params.presence_penalty = 0.5;  // so that what was accepted before matters
  return params;
}

enum class Draft { kGood, kBad, kDisjoint, kPoint, kSame };
constexpr Draft kDrafts[] = {Draft::kGood, Draft::kBad, Draft::kDisjoint, Draft::kPoint, Draft::kSame};

// What a drafter of that kind thinks comes next, given what the target thinks.
std::vector<TokenProbability> drafted_distribution(Draft kind, std::span<const TokenProbability> p) {
  std::vector<TokenProbability> q;
  if (kind == Draft::kSame) return {p.begin(), p.end()};
  if (kind == Draft::kPoint) return {};
  for (std::int32_t token = 0; token < static_cast<std::int32_t>(kVocab); ++token) {
    const auto it = std::ranges::find(p, token, &TokenProbability::token);
    const double mass = it == p.end() ? 0.0 : it->probability;
    if (kind == Draft::kGood) q.push_back({token, 0.9 * mass + 0.1 / kVocab});
    if (kind == Draft::kBad) q.push_back({token, (1.0 - mass) / (kVocab - 1.0)});
    if (kind == Draft::kDisjoint && mass == 0.0) q.push_back({token, 1.0});
  }
  double total = 0.0;
  for (const TokenProbability& one : q) total += one.probability;
  for (TokenProbability& one : q) one.probability /= total;
  return q;
}

std::int32_t sample(std::span<const TokenProbability> q, double uniform) {
  double sum = 0.0;
  for (const TokenProbability& one : q) {
    sum += one.probability;
    if (sum > uniform) return one.token;
  }
  return q.back().token;
}

// Two drafted tokens verified, and the one behind them, as an engine does it. `accepted` counts.
Tokens speculate(const VerificationRule& rule, const SamplingParams& params, Draft kind, int& accepted) {
  LogitsPipeline target(params, kVocab);
  LogitsPipeline drafter = target;  // runs ahead
  std::vector<std::vector<TokenProbability>> qs;
  Tokens drafted, out;
  std::int32_t last = 0;
  for (std::int64_t position = 0; position < 2; ++position) {
    const auto p = drafter.distribution(row_after(last), position).or_throw();
    qs.push_back(drafted_distribution(kind, p));
    const double noise = rng::uniform(params.seed + 1000000, static_cast<std::uint64_t>(position), 1);
    const bool point = qs.back().empty();
    drafted.push_back(point ? p[p.size() / 2].token : sample(qs.back(), noise));
    drafter.accept(last = drafted.back());
  }
  last = 0;
  bool goes_on = true;
  for (std::size_t i = 0; goes_on && i < 3; ++i) {
    std::optional<DraftedToken> proposal;
    if (i < 2) proposal = DraftedToken{drafted[i], qs[i]};
    const Verdict verdict = rule.next(target, row_after(last), static_cast<std::int64_t>(i), proposal).or_throw();
    goes_on = verdict.accepted;
    accepted += verdict.accepted;
    EXPECT_TRUE(!verdict.accepted || verdict.token == drafted[i]);
    target.accept(last = verdict.token);
    out.push_back(last);
  }
  return out;
}

TEST(Verification, TokensAreDistributedAsTheTargetsOwn) {
  for (const VerificationRule& rule : all_verification_rules()) {
    for (const Draft kind : kDrafts) {
      SamplingParams params = target_params();
      LogitsPipeline target(params, kVocab);
      std::vector<double> first(kVocab, 0.0), pairs(kVocab * kVocab, 0.0);
      std::vector<int> first_counts(kVocab, 0), pair_counts(kVocab * kVocab, 0);
      const auto p = target.distribution(row_after(0), 0).or_throw();
      for (const auto& [token, probability] : p) first[static_cast<std::size_t>(token)] = probability * kDraws;
      int accepted = 0;
      std::vector<int> followed(kVocab, 0);
      for (int i = 0; i < kDraws; ++i) {
        params.seed = static_cast<std::uint64_t>(i);
        const Tokens out = speculate(rule, params, kind, accepted);
        ++first_counts[static_cast<std::size_t>(out[0])];
        if (out.size() < 2) continue;
        ++followed[static_cast<std::size_t>(out[0])];
        ++pair_counts[static_cast<std::size_t>(out[0]) * kVocab + static_cast<std::size_t>(out[1])];
      }
      for (std::size_t token = 0; token < kVocab; ++token) {  // of those that were accepted and went on
        LogitsPipeline behind(params, kVocab);
        behind.accept(static_cast<std::int32_t>(token));
        for (const auto& [next, q] : behind.distribution(row_after(static_cast<std::int32_t>(token)), 1).or_throw()) {
          pairs[token * kVocab + static_cast<std::size_t>(next)] = q * followed[token];
        }
      }
      EXPECT_TRUE(chi_square(first, first_counts).passes()) << rule.name << " " << static_cast<int>(kind);
      if (kind != Draft::kDisjoint) {
        EXPECT_TRUE(chi_square(pairs, pair_counts).passes()) << rule.name << " " << static_cast<int>(kind);
      }
      EXPECT_EQ(accepted == 0, kind == Draft::kDisjoint) << rule.name;
      EXPECT_TRUE(kind != Draft::kSame || rule.same_tokens || accepted == 2 * kDraws);
    }
  }
}

// Positions go on where each step of several tokens ended: what plain decoding says, token for token.
TEST(Verification, CoupledSaysWhatPlainDrawsSay) {
  const VerificationRule& coupled = *find_verification_rule("coupled");
  ASSERT_TRUE(coupled.same_tokens);
  for (const bool greedy : {false, true}) {
    SamplingParams params = target_params(greedy);
    params.seed = 77;
    LogitsPipeline plain(params, kVocab), target(params, kVocab);
    std::int32_t last = 0, last_plain = 0;
    int accepted = 0;
    for (std::int64_t position = 0; position < 500; ++position) {
      last_plain = plain.sample(row_after(last_plain), position).or_throw();
      plain.accept(last_plain);
      LogitsPipeline drafter = target;
      const std::int32_t draft_token = drafter.sample(row_after(position % 3 == 0 ? 5 : last), position).or_throw();
      const Verdict verdict = coupled.next(target, row_after(last), position, DraftedToken{draft_token, {}}).or_throw();
      ASSERT_EQ(verdict.token, last_plain);
      ASSERT_EQ(verdict.accepted, draft_token == last_plain);
      accepted += verdict.accepted;
      target.accept(last = verdict.token);
    }
    EXPECT_GE(accepted, 333);  // the same noise and the same row agree
  }
}

TEST(Verification, GreedyTargetsTakeTheirOwnTokenAlone) {
  for (const VerificationRule& rule : all_verification_rules()) {
    LogitsPipeline target(target_params(true), kVocab);
    const std::vector<float> row = row_after(3);
    const std::int32_t best = target.sample(row, 0).or_throw();
    const std::vector<TokenProbability> q = {{best, 0.25}, {11, 0.75}};
    ASSERT_NE(best, 11);
    for (const std::int32_t drafted : {best, 11}) {
      for (std::int64_t position = 0; position < 100; ++position) {
        const Verdict verdict = rule.next(target, row, position, DraftedToken{drafted, q}).or_throw();
        EXPECT_EQ(verdict.token, best) << rule.name;
        EXPECT_EQ(verdict.accepted, drafted == best) << rule.name;
      }
    }
  }
}

TEST(Verification, AGrammarHoldsForDraftedTokens) {
  for (const VerificationRule& rule : all_verification_rules()) {
    LogitsPipeline target(target_params(), kVocab, {}, byte_grammar({2, 3}, 1));
    for (std::int64_t position = 0; position < 100; ++position) {
      const auto verdict = rule.next(target, row_after(1), position, DraftedToken{7, {}}).or_throw();
      EXPECT_TRUE((verdict.token == 2 || verdict.token == 3) && !verdict.accepted) << rule.name;
    }
    target.accept(2);
    EXPECT_EQ(rule.next(target, row_after(1), 0, DraftedToken{7, {}}).error().param, "grammar");
  }
}

TEST(DraftLength, IsTheBestOfAll) {
  EXPECT_EQ(expected_tokens(0.0, 5), 1.0);
  EXPECT_EQ(expected_tokens(1.0, 5), 6.0);
  EXPECT_NEAR(expected_tokens(0.8, 5), (1.0 - std::pow(0.8, 6)) / 0.2, 1e-12);
  for (double acceptance = 0.0; acceptance <= 1.0; acceptance += 0.05) {
    for (double cost = 0.0; cost < 1.2; cost += 0.04) {
      const int found = best_draft_length(acceptance, cost, 16);
      const auto rate = [=](int n) { return expected_tokens(acceptance, n) / (n * cost + 1.0); };
      for (int n = 0; n <= 16; ++n) EXPECT_GE(rate(found), rate(n)) << acceptance << " " << cost << " " << n;
    }
  }
  EXPECT_EQ(best_draft_length(0.5, 0.6, 16), 0);  // costs more than it brings
  EXPECT_EQ(best_draft_length(1.0, 0.1, 16), 16);
}

}  // namespace
}  // namespace millrace::decode

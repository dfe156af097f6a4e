// Each processor against the plain way to say the same: sorted lists of probabilities, libm, no care for speed.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <random>
#include <set>

#include "base/counter_rng.h"
#include "decode/mirostat.h"
#include "decode/processor.h"
#include "decode/sampling_seed.h"

namespace millrace::decode {
namespace {

using Tokens = std::vector<std::int32_t>;
using Set = std::function<void(SamplingParams&)>;

const Processor& processor(std::string_view file) {
  for (const Processor& p : all_processors()) {
    if (p.name == file || p.alias == file) return p;
  }
  throw std::runtime_error(std::string(file));
}
const Processor& unnamed(int place) { return *std::ranges::find(all_processors(), place, &Processor::place); }

Candidates candidates_of(const std::vector<float>& row) {
  Candidates out;
  for (std::size_t i = 0; i < row.size(); ++i) out.push_back({static_cast<std::int32_t>(i), row[i]});
  return out;
}

// A row of all kinds: peaked, flat, with many equal logits.
std::vector<float> row_of(unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.1f + 0.7f * static_cast<float>(seed % 5));
  std::vector<float> row(1 + seed * 3 % 700);
  for (float& x : row) x = seed % 3 == 0 ? std::round(normal(random) * 2.0f) / 2.0f : normal(random);
  return row;
}

// What the plain references work on: the likeliest first, equal ones by id.
struct Token {
  std::int32_t token;
  double logit, p;
};
std::vector<Token> sorted(const std::vector<float>& row) {
  std::vector<Token> out;
  double total = 0.0;
  const double largest = *std::ranges::max_element(row);
  for (std::size_t i = 0; i < row.size(); ++i) {
    out.push_back({static_cast<std::int32_t>(i), row[i], std::exp(row[i] - largest)});
    total += out.back().p;
  }
  for (Token& t : out) t.p /= total;
  std::ranges::stable_sort(out, std::ranges::greater(), &Token::logit);
  return out;
}
double entropy(const std::vector<Token>& tokens) {
  double sum = 0.0;
  for (const Token& t : tokens) sum -= t.p * std::log(t.p);
  return sum;
}
Tokens ids(std::vector<Token> tokens) {
  Tokens out;
  for (const Token& t : tokens) out.push_back(t.token);
  std::ranges::sort(out);
  return out;
}
void take_until(std::vector<Token>& tokens, double p) {
  double sum = 0.0;
  std::size_t n = 0;
  while (n < tokens.size() && sum < p) sum += tokens[n++].p;
  tokens.resize(n);
}

const History kNothing({.tokens = true, .counts = true, .window = -1}, 1000);

Tokens kept(const Processor& p, const std::vector<float>& row, const Set& set, double mu = 0.0, std::int64_t at = 0) {
  SamplingParams params;
  set(params);
  Candidates candidates = candidates_of(row);
  if (p.active(params)) {
    p.apply({.params = params, .history = kNothing, .position = at, .mirostat_mu = mu}, candidates);
  }
  Tokens out;
  for (const Candidate& c : candidates) {
    EXPECT_EQ(c.logit, row[static_cast<std::size_t>(c.token)]);  // truncation changes no logit
    out.push_back(c.token);
  }
  return out;
}

TEST(Processors, TruncationKeepsWhatSortingWouldKeep) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const std::vector<float> row = row_of(seed);
    const std::vector<Token> all = sorted(row);
    const double p = 0.05 + 0.9 * std::fmod(seed * 0.381966, 1.0);

    auto nucleus = all;
    take_until(nucleus, p);
    EXPECT_EQ(kept(processor("top_p"), row, [=](auto& s) { s.top_p = p; }), ids(nucleus)) << seed;

    auto first = all;
    first.resize(std::min<std::size_t>(first.size(), 1 + seed % 50));
    EXPECT_EQ(kept(processor("top_k"), row, [=](auto& s) { s.top_k = 1 + seed % 50; }), ids(first)) << seed;

    auto likely = all;
    std::erase_if(likely, [&](const Token& t) { return t.p < p * all[0].p; });
    EXPECT_EQ(kept(processor("min_p"), row, [=](auto& s) { s.min_p = p; }), ids(likely)) << seed;

    auto typical = all;
    std::ranges::sort(typical, {}, &Token::token);
    const double h = entropy(all);
    const auto distance = [=](const Token& t) { return static_cast<float>(std::abs(-std::log(t.p) - h)); };
    if (seed % 3 != 0) {  // where logits are equal, the reference's distances may differ in their last bit
      std::ranges::stable_sort(typical, {}, distance);
      take_until(typical, p);
      EXPECT_EQ(kept(processor("typical_p"), row, [=](auto& s) { s.typical_p = p; }), ids(typical)) << seed;
    }

    double mean = 0.0, square = 0.0;
    for (const float x : row) mean += x / static_cast<double>(row.size());
    for (const float x : row) square += (x - mean) * (x - mean) / static_cast<double>(row.size());
    auto near = all;
    std::erase_if(near, [&](const Token& t) { return t.logit < all[0].logit - 3.0 * p * std::sqrt(square); });
    EXPECT_EQ(kept(processor("top_n_sigma"), row, [=](auto& s) { s.top_n_sigma = 3.0 * p; }), ids(near)) << seed;
  }
}

TEST(Processors, XtcLeavesTheLeastLikelyOfTheLikelyWhereItsCoinSaysSo) {
  int excluded = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    const std::vector<float> row = row_of(seed);
    const double threshold = 0.5 * std::fmod(seed * 0.381966, 1.0);
    const auto set = [=](SamplingParams& s) {
      s.xtc_probability = 0.3;
      s.xtc_threshold = threshold;
      s.seed = 9;
    };
    auto left = sorted(row);
    const auto end = std::ranges::find_if(left, [=](const Token& t) { return t.p < threshold; });
    const bool coin = rng::uniform(seed_for(Purpose::kXtc, 9), seed, 0) < 0.3;
    if (coin && end - left.begin() > 1) left.erase(left.begin(), end - 1);
    excluded += coin;
    EXPECT_EQ(kept(processor("xtc"), row, set, 0.0, seed), ids(left)) << seed;
  }
  EXPECT_NEAR(excluded, 120, 35);
}

TEST(Processors, DynamicTemperatureFollowsTheEntropy) {
  for (unsigned seed = 1; seed < 100; ++seed) {
    const std::vector<float> row = row_of(seed);
    SamplingParams params;
    params.temperature = 0.9;
    params.dynatemp_range = seed % 2 == 0 ? 0.5 : 1.5;
    params.dynatemp_exponent = 0.7;
    const double low = std::max(0.0, 0.9 - params.dynatemp_range), high = 0.9 + params.dynatemp_range;
    const double share = entropy(sorted(row)) / std::log(static_cast<double>(row.size()));
    const double t = row.size() == 1 ? 0.9 : low + (high - low) * std::pow(share, 0.7);
    Candidates candidates = candidates_of(row);
    processor("temperature").apply({.params = params, .history = kNothing}, candidates);
    for (const Candidate& c : candidates) {
      const double expected = static_cast<double>(row[static_cast<std::size_t>(c.token)]) / t;
      EXPECT_NEAR(c.logit, expected, 1e-5 * (1.0 + std::abs(expected))) << seed;
    }
  }
}

// Dynamic temperature goes down to zero, and any temperature above it is taken.
TEST(Processors, TheColdestTemperatureLeavesTheLikeliestAndNothingInfinite) {
  SamplingParams params;
  for (const double temperature : {1e-300, 1e-20, 1e-7}) {
    params.temperature = temperature;
    Candidates candidates = candidates_of({1.0f, 3e30f, -3e38f, 0.0f});
    processor("temperature").apply({.params = params, .history = kNothing}, candidates);
    EXPECT_EQ(candidates[1].logit, 0.0f);
    for (const Candidate& c : candidates) EXPECT_TRUE(c.token == 1 || (std::isfinite(c.logit) && c.logit < -1e29f));
  }
  params.temperature = params.dynatemp_range = 1.0;
  Candidates candidates = candidates_of({0.0f, 900.0f, 0.0f});  // no entropy
  processor("temperature").apply({.params = params, .history = kNothing}, candidates);
  EXPECT_GT(candidates[1].logit, candidates[0].logit + 1e29f);
  params.dynatemp_exponent = 0.0;  // then the highest, whatever the entropy
  candidates = candidates_of({0.0f, 900.0f, 0.0f});
  processor("temperature").apply({.params = params, .history = kNothing}, candidates);
  EXPECT_FLOAT_EQ(candidates[1].logit, 450.0f);
}

TEST(Processors, MirostatKeepsWhatItsAlgorithmsSay) {
  for (unsigned seed = 1; seed < 200; ++seed) {
    const std::vector<float> row = row_of(seed);
    const std::vector<Token> all = sorted(row);
    const double mu = 0.5 + 8.0 * std::fmod(seed * 0.381966, 1.0);

    auto surprising = all;
    std::erase_if(surprising, [&](const Token& t) { return t.token != all[0].token && -std::log2(t.p) > mu; });
    const auto two = kept(unnamed(500), row, [](auto& s) { s.mirostat_mode = 2; }, mu);
    // Where the likeliest is above mu, those that equal it stay with it.
    if (-std::log2(all[0].p) <= mu || seed % 3 != 0) {
      EXPECT_EQ(two, ids(surprising)) << seed;
    }

    double products = 0.0, squares = 0.0;
    for (std::size_t i = 0; i + 1 < std::min<std::size_t>(100, all.size()); ++i) {
      const double t = std::log(static_cast<double>(i + 2) / static_cast<double>(i + 1));
      products += t * std::log(all[i].p / all[i + 1].p);
      squares += t * t;
    }
    const double s = products / squares, n = static_cast<double>(row.size());
    const double k = std::pow((s - 1.0) * std::pow(2.0, mu) / (1.0 - std::pow(n, -(s - 1.0))), 1.0 / s);
    auto first = all;
    if (row.size() > 1) first.resize(static_cast<std::size_t>(std::clamp(std::floor(k), 1.0, n)));
    EXPECT_EQ(kept(unnamed(500), row, [](auto& p) { p.mirostat_mode = 1; }, mu), ids(first)) << seed;
  }
}

TEST(Mirostat, MuMovesAgainstTheErrorOfTheSurprise) {
  SamplingParams params;
  params.mirostat_tau = 3.0;
  params.mirostat_eta = 0.5;
  const Candidates row = {{2, 1.0f}, {5, 1.0f}, {7, 1.0f}, {9, 1.0f}};  // two bits each
  EXPECT_NEAR(mirostat_after(params, 6.0, row, 5), 6.5, 1e-12);
  EXPECT_EQ(mirostat_after(params, 6.0, row, 3), 6.0);
}

TEST(Processors, NoNgramComesTwice) {
  std::mt19937 random(12);
  for (int round = 0; round < 500; ++round) {
    SamplingParams params;
    params.no_repeat_ngram_size = 1 + round % 4;
    const auto n = static_cast<std::size_t>(params.no_repeat_ngram_size);
    Tokens text;
    for (int i = 0; i < round % 30; ++i) text.push_back(static_cast<std::int32_t>(random() % 4));
    History history({.tokens = true}, 4);
    history.observe(text);
    Candidates candidates = candidates_of(std::vector<float>(4, 0.0f));
    unnamed(20).apply({.params = params, .history = history}, candidates);
    for (std::int32_t token = 0; token < 4; ++token) {
      Tokens longer = text;
      longer.push_back(token);
      bool twice = false;
      for (std::size_t i = 0; i + n < longer.size() && longer.size() >= n; ++i) {
        twice = twice || std::equal(longer.begin() + static_cast<std::ptrdiff_t>(i),
                                    longer.begin() + static_cast<std::ptrdiff_t>(i + n),
                                    longer.end() - static_cast<std::ptrdiff_t>(n));
      }
      ASSERT_EQ(std::isinf(candidates[static_cast<std::size_t>(token)].logit), twice) << round;
    }
  }
}

TEST(Processors, PenaltiesKnowTheWindowAlone) {
  SamplingParams params;
  params.repetition_penalty = 2.0;
  params.presence_penalty = 0.25;
  params.frequency_penalty = 0.5;
  History history({.tokens = false, .counts = true, .window = 4}, 5);
  const Tokens prompt = {0, 1, 2};
  history.observe(prompt);
  for (const std::int32_t token : {3, 3}) history.accept(token);  // window: 1 2 3 3
  Candidates candidates = candidates_of({1.0f, 1.0f, -1.0f, 1.0f, 1.0f});
  processor("penalties").apply({.params = params, .history = history}, candidates);
  const float expected[] = {1.0f, 0.5f, -2.0f, 0.5f - 1.25f, 1.0f};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(candidates[i].logit, expected[i]) << i;
}

// Neutral values leave a processor out; values beside them do not.
TEST(Processors, ArePartOfTheChainOnlyWhereTheyChangeSomething) {
  EXPECT_TRUE(build_chain({}).empty());
  const std::pair<const char*, Set> cases[] = {
      {"penalties", [](auto& p) { p.repetition_penalty = 1.1; }},
      {"penalties", [](auto& p) { p.presence_penalty = 0.1; }},
      {"penalties", [](auto& p) { p.frequency_penalty = 0.1; }},
      {"dry", [](auto& p) { p.dry_multiplier = 0.1; }},
      {"temperature", [](auto& p) { p.temperature = 0.9; }},
      {"temperature", [](auto& p) { p.dynatemp_range = 0.1; }},
      {"top_n_sigma", [](auto& p) { p.top_n_sigma = 1.0; }},
      {"min_p", [](auto& p) { p.min_p = 0.1; }},
      {"top_k", [](auto& p) { p.top_k = 1; }},
      {"typ_p", [](auto& p) { p.typical_p = 0.9; }},
      {"top_p", [](auto& p) { p.top_p = 0.9; }},
      {"xtc", [](auto& p) { p.xtc_probability = 0.1; }},
  };
  for (const auto& [name, set] : cases) {
    SamplingParams params;
    set(params);
    const auto chain = build_chain(params);
    ASSERT_EQ(chain.size(), 1u) << name;
    EXPECT_EQ(chain[0]->name, name);
  }
}

TEST(Processors, EndReasoningWhereItsBudgetIsSpent) {
  const Processor& ends = unnamed(5);
  SamplingParams params;
  params.thinking_budget = {.tokens = 2, .open = -1, .close = 3};
  const auto left = [&](const Tokens& answer) {
    History history({.tokens = true, .counts = false}, 8);
    history.observe(Tokens{3, 1});
    for (const std::int32_t token : answer) history.accept(token);
    Candidates candidates = candidates_of(std::vector<float>(6, 1.0f));
    ends.apply({.params = params, .history = history}, candidates);
    return std::ranges::count_if(candidates, [](const Candidate& c) { return std::isfinite(c.logit); });
  };
  EXPECT_EQ(left({4}), 6);        // there is some left
  EXPECT_EQ(left({4, 4}), 1);     // the end alone
  EXPECT_EQ(left({4, 4, 4}), 1);  // and later, whatever came in between
  EXPECT_EQ(left({3, 4, 4}), 6);  // it has ended
  params.thinking_budget->open = 2;
  EXPECT_EQ(left({4, 4}), 6);  // nothing was thought
  EXPECT_EQ(left({2, 4}), 1);
}

std::vector<std::string> names_of(const SamplingParams& params) {
  std::vector<std::string> out;
  for (const Processor* p : build_chain(params)) out.emplace_back(p->name.empty() ? "-" : p->name);
  return out;
}

TEST(Processors, StandInTheOrderAskedForBehindBansAndBias) {
  SamplingParams params;
  params.logit_bias = {{1, 1.0f}};
  params.bad_words = {{1}};
  params.presence_penalty = 1.0;
  params.dry_multiplier = 1.0;
  params.temperature = 0.5;
  params.min_p = params.xtc_probability = 0.1;
  params.top_k = 5;
  params.typical_p = params.top_p = 0.9;
  params.top_n_sigma = 1.0;
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(params), (Names{"-", "-", "penalties", "dry", "temperature", "top_n_sigma", "min_p", "top_k",
                                     "typ_p", "top_p", "xtc"}));
  params.samplers = {"top-k", "temp", "penalties"};
  EXPECT_EQ(names_of(params), (Names{"-", "-", "top_k", "temperature", "penalties"}));
  EXPECT_EQ(build_chain(params)[0]->stage, Stage::kBan);
  params.mirostat_mode = 2;
  EXPECT_EQ(names_of(params), (Names{"-", "-", "temperature", "penalties", "-"}));
  EXPECT_EQ(sampler_names().size(), 9u);
}

TEST(Processors, HaveNamesAndPlacesOfTheirOwn) {
  std::set<int> places;
  std::set<std::string_view> names;
  for (const Processor& p : all_processors()) {
    EXPECT_TRUE(places.insert(p.place).second) << p.place;
    EXPECT_TRUE(p.name.empty() || names.insert(p.name).second) << p.name;
    EXPECT_TRUE(p.alias.empty() || names.insert(p.alias).second) << p.alias;
  }
}

}  // namespace
}  // namespace millrace::decode

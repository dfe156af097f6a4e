#include "decode/beam_search.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace millrace::decode {
namespace {

using Tokens = std::vector<std::int32_t>;

// A model of a small vocabulary: log probabilities of the next token, a function of those before.
class Model {
 public:
  Model(int vocab, unsigned seed) : vocab_(vocab), seed_(seed) {}
  int vocab() const { return vocab_; }
  std::vector<double> next(const Tokens& before) const {
    unsigned hash = seed_;
    for (const std::int32_t token : before) hash = hash * 1000003u + static_cast<unsigned>(token) + 1u;
    std::mt19937 random(hash);
    std::normal_distribution<double> normal(0.0, 1.5);
    std::vector<double> row(static_cast<std::size_t>(vocab_));
    double sum = 0.0;
    for (double& x : row) sum += std::exp(x = normal(random));
    for (double& x : row) x -= std::log(sum);
    return row;
  }

 private:
  int vocab_;
  unsigned seed_;
};

std::vector<ScoredToken> row_of(const std::vector<double>& logprobs, std::size_t width) {
  std::vector<ScoredToken> row;
  for (std::size_t i = 0; i < logprobs.size(); ++i) row.push_back({static_cast<std::int32_t>(i), logprobs[i]});
  std::ranges::stable_sort(row, std::ranges::greater(), &ScoredToken::logprob);
  row.resize(std::min(row.size(), width));
  return row;
}

// The search over a model; each parent must be one that lived, and tokens must be its tokens and one more.
std::vector<BeamSearch::Hypothesis> search(const BeamOptions& options, const Model& model, int* steps = nullptr) {
  EXPECT_TRUE(options.validate());
  BeamSearch beams(options);
  while (!beams.done()) {
    std::vector<std::vector<ScoredToken>> rows;
    std::vector<Tokens> before;
    for (const BeamSearch::Beam& beam : beams.live()) {
      rows.push_back(row_of(model.next(beam.tokens), beams.row_width()));
      before.push_back(beam.tokens);
    }
    beams.step(std::vector<std::span<const ScoredToken>>(rows.begin(), rows.end()));
    for (const BeamSearch::Beam& beam : beams.live()) {
      Tokens expected = before.at(static_cast<std::size_t>(beam.parent));
      expected.push_back(beam.token);
      EXPECT_EQ(beam.tokens, expected);
    }
    if (steps != nullptr) ++*steps;
  }
  return beams.finished();
}

// GenerationMixin._beam_search of transformers 5 for one sequence, step by step as it is written, on whole rows, with
// its placeholders of score -1e9. For several groups the loop over them of its _group_beam_search.
class HuggingFace {
 public:
  HuggingFace(const BeamOptions& o, const Model& model) : o_(o), model_(model), width_(o.width / o.groups) {
    for (int g = 0; g < o.groups; ++g) {
      Group group;
      group.running.assign(static_cast<std::size_t>(width_), {-1e9, {}});
      group.running[0].first = 0.0;
      group.sequences.assign(static_cast<std::size_t>(width_), {-1e9, {}});
      group.sent.assign(static_cast<std::size_t>(width_), false);
      groups_.push_back(group);
    }
  }

  std::vector<std::pair<Tokens, double>> run(int& steps) {
    for (steps = 0; std::ranges::any_of(groups_, [](const Group& g) { return g.goes_on; }); ++steps) {
      ++length_;
      std::vector<std::int32_t> current;
      for (Group& group : groups_) {
        if (group.goes_on) step(group, current);
      }
    }
    std::vector<std::pair<Tokens, double>> out;
    for (const Group& group : groups_) {
      for (std::size_t i = 0; i < group.sequences.size(); ++i) {
        if (group.sent[i]) out.emplace_back(group.sequences[i].second, group.sequences[i].first);
      }
    }
    return out;
  }

 private:
  using Scored = std::pair<double, Tokens>;
  struct Group {
    std::vector<Scored> running, sequences;
    std::vector<bool> sent;
    bool unsatisfied = true, goes_on = true;
  };

  double power(std::int64_t length) const { return std::pow(static_cast<double>(length), o_.length_penalty); }

  static std::vector<std::size_t> top_k(const std::vector<double>& values, std::size_t k) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    order.resize(k);
    return order;
  }

  void step(Group& group, std::vector<std::int32_t>& current) {
    const auto vocab = static_cast<std::size_t>(model_.vocab());
    std::vector<double> log_probs;
    for (const auto& [score, tokens] : group.running) {
      std::vector<double> row = model_.next(tokens);
      for (const std::int32_t token : current) row[static_cast<std::size_t>(token)] -= o_.diversity_penalty;
      for (const double x : row) log_probs.push_back(score + x);
    }
    const std::size_t keep = std::max<std::size_t>(2, 1 + o_.end_tokens.size()) * static_cast<std::size_t>(width_);
    std::vector<Scored> top;
    std::vector<bool> hits;
    for (const std::size_t i : top_k(log_probs, keep)) {
      top.emplace_back(log_probs[i], group.running[i / vocab].second);
      top.back().second.push_back(static_cast<std::int32_t>(i % vocab));
      hits.push_back(length_ == o_.max_tokens || std::ranges::count(o_.end_tokens, top.back().second.back()) > 0);
    }
    std::vector<double> running_scores;
    for (std::size_t i = 0; i < keep; ++i) running_scores.push_back(top[i].first + (hits[i] ? -1e9 : 0.0));
    group.running.clear();
    for (const std::size_t i : top_k(running_scores, static_cast<std::size_t>(width_))) {
      group.running.emplace_back(running_scores[i], top[i].second);
    }
    // Of BeamSearchScorer.process, which knows the end tokens alone and not the length.
    for (std::size_t i = 0, beams = 0; i < keep && beams < static_cast<std::size_t>(width_); ++i) {
      const std::int32_t token = top[i].second.back();
      if (std::ranges::count(o_.end_tokens, token) > 0) continue;
      current.push_back(token);
      ++beams;
    }

    const bool full = std::ranges::count(group.sent, false) == 0;
    std::vector<Scored> merged = group.sequences;
    std::vector<bool> merged_sent = group.sent;
    for (std::size_t i = 0; i < keep; ++i) {
      const bool finished = hits[i] && i < static_cast<std::size_t>(width_);
      double score = top[i].first / power(length_);
      if (full && o_.early_stopping == EarlyStopping::kFull) score += -1e9;
      if (!group.unsatisfied) score += -1e9;
      if (!finished) score += -1e9;
      merged.emplace_back(score, top[i].second);
      merged_sent.push_back(finished);
    }
    std::vector<double> scores;
    for (const Scored& one : merged) scores.push_back(one.first);
    const auto best = top_k(scores, static_cast<std::size_t>(width_));
    for (std::size_t i = 0; i < best.size(); ++i) {
      group.sequences[i] = merged[best[i]];
      group.sent[i] = merged_sent[best[i]];
    }

    const bool all_sent = std::ranges::count(group.sent, false) == 0;
    const bool longest = o_.early_stopping == EarlyStopping::kNever && o_.length_penalty > 0.0;
    const double possible = group.running[0].first / power(longest ? o_.max_tokens : length_);
    double worst = -1e9;
    if (all_sent) worst = std::ranges::min_element(group.sequences)->first;
    group.unsatisfied = group.unsatisfied && possible > worst;
    const bool open = !(all_sent && o_.early_stopping == EarlyStopping::kFull);
    group.goes_on = group.unsatisfied && open && std::ranges::count(hits, false) > 0;
  }

  BeamOptions o_;
  const Model& model_;
  int width_;
  std::int64_t length_ = 0;
  std::vector<Group> groups_;
};

void expect_same(const BeamOptions& options, const Model& model, const std::string& what) {
  int steps = 0, expected_steps = 0;
  const auto found = search(options, model, &steps);
  auto expected = HuggingFace(options, model).run(expected_steps);
  ASSERT_EQ(steps, expected_steps) << what;
  std::vector<std::pair<Tokens, double>> answers;
  for (const BeamSearch::Hypothesis& one : found) answers.emplace_back(one.tokens, one.score);
  ASSERT_TRUE(std::ranges::is_sorted(found, std::ranges::greater(), &BeamSearch::Hypothesis::score)) << what;
  std::ranges::sort(answers);
  std::ranges::sort(expected);
  ASSERT_EQ(answers.size(), expected.size()) << what;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    ASSERT_EQ(answers[i].first, expected[i].first) << what;
    ASSERT_NEAR(answers[i].second, expected[i].second, 1e-9 * (1.0 + std::abs(expected[i].second))) << what;
  }
}

TEST(BeamSearch, EndsWhereAndWithWhatHuggingFaceDoes) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    for (const EarlyStopping early : {EarlyStopping::kFull, EarlyStopping::kHeuristic, EarlyStopping::kNever}) {
      for (const double penalty : {-0.7, 0.0, 1.0, 2.5}) {
        for (const int width : {1, 2, 3, 5}) {
          BeamOptions options{.width = width, .length_penalty = penalty, .early_stopping = early};
          options.end_tokens = seed % 3 == 0 ? Tokens{1, 4} : Tokens{2};
          options.max_tokens = 1 + seed % 9;
          expect_same(options, Model(17, seed),
                      fmt::format("{} {} {} {}", seed, penalty, width, early == EarlyStopping::kFull));
        }
      }
    }
  }
}

TEST(BeamSearch, GroupsAreDiverseAsInHuggingFace) {
  for (unsigned seed = 0; seed < 80; ++seed) {
    const std::pair<int, int> shapes[] = {{2, 2}, {4, 2}, {6, 3}, {6, 2}};
    for (const auto& [width, groups] : shapes) {
      BeamOptions options{.width = width, .groups = groups, .diversity_penalty = 0.4 * (seed % 4)};
      options.end_tokens = {2};
      options.max_tokens = 2 + seed % 6;
      options.early_stopping = seed % 2 == 0 ? EarlyStopping::kHeuristic : EarlyStopping::kFull;
      expect_same(options, Model(19, seed), fmt::format("{} {} {}", seed, width, groups));
    }
  }
}

// With room for all sequences nothing is lost: the best of all there are.
TEST(BeamSearch, FindsTheBestOfAllWhereTheyAllFit) {
  for (unsigned seed = 0; seed < 50; ++seed) {
    const Model model(4, seed);
    BeamOptions options{.width = 64, .length_penalty = 0.0, .early_stopping = EarlyStopping::kNever};
    options.end_tokens = {0};
    options.max_tokens = 3;
    Tokens best;
    double best_score = -1e300;
    std::vector<std::pair<Tokens, double>> open = {{{}, 0.0}};
    while (!open.empty()) {
      const auto [tokens, score] = open.back();
      open.pop_back();
      if (!tokens.empty() && (tokens.size() == 3 || tokens.back() == 0)) {
        if (score > best_score) best = tokens, best_score = score;
        continue;
      }
      const std::vector<double> row = model.next(tokens);
      for (std::int32_t token = 0; token < 4; ++token) {
        Tokens longer = tokens;
        longer.push_back(token);
        open.emplace_back(longer, score + row[static_cast<std::size_t>(token)]);
      }
    }
    const auto found = search(options, model);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].tokens, best) << seed;
    EXPECT_NEAR(found[0].logprob, best_score, 1e-12);
    EXPECT_EQ(found.size(), 1u + 3u + 9u * 4u);  // all there are
  }
}

TEST(BeamSearch, OneBeamWithoutAnEndIsGreedy) {
  const Model model(9, 3);
  BeamOptions options;
  options.max_tokens = 7;
  Tokens greedy;
  while (greedy.size() < 7) {
    const std::vector<double> row = model.next(greedy);
    greedy.push_back(static_cast<std::int32_t>(std::ranges::max_element(row) - row.begin()));
  }
  const auto found = search(options, model);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].tokens, greedy);
}

TEST(BeamSearch, LivesOnWithFewerBeamsWhereRowsAreShort) {
  BeamSearch beams({.width = 3, .max_tokens = 4});
  const std::vector<ScoredToken> row = {{5, -0.1}};  // all a grammar allows
  for (int step = 0; step < 4; ++step) {
    ASSERT_EQ(beams.live().size(), 1u);
    beams.step(std::vector<std::span<const ScoredToken>>{row});
  }
  EXPECT_TRUE(beams.done());
  EXPECT_EQ(beams.finished()[0].tokens, (Tokens{5, 5, 5, 5}));
}

TEST(BeamOptions, WrongValuesNameTheirField) {
  const auto param = [](const BeamOptions& options) {
    const auto valid = options.validate();
    return valid ? std::string() : valid.error().param;
  };
  EXPECT_EQ(param({}), "");
  EXPECT_EQ(param({.width = 0}), "num_beams");
  EXPECT_EQ(param({.width = 65}), "num_beams");
  EXPECT_EQ(param({.length_penalty = std::nan("")}), "length_penalty");
  EXPECT_EQ(param({.width = 4, .groups = 3}), "num_beam_groups");
  EXPECT_EQ(param({.diversity_penalty = -1.0}), "diversity_penalty");
  EXPECT_EQ(param({.max_tokens = 0}), "max_tokens");
}

}  // namespace
}  // namespace millrace::decode

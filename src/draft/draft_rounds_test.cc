#include "draft/draft_rounds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "backend/testing/test_backend.h"

namespace millrace::draft {
namespace {

constexpr std::int64_t kVocabulary = 8;
using Row = std::map<std::int32_t, double>;  // probabilities; what is left out has next to none

// A model of which only the last token counts.
class DraftRoundsTest : public testing::Test {
 protected:
  DraftRoundsTest() : backend_(backend::make_test_backend(1)) { place_.backend = backend_.get(); }

  TensorView forward(const model::BatchInput& input) {
    logits_.assign(input.logit_rows.size() * kVocabulary, std::log(1e-6f));
    for (std::size_t i = 0; i < input.logit_rows.size(); ++i) {
      const std::int32_t last = input.tokens[static_cast<std::size_t>(input.logit_rows[i])];
      for (const auto& [token, p] : model_.at(last)) {
        logits_[i * kVocabulary + static_cast<std::size_t>(token)] = static_cast<float>(std::log(p));
      }
    }
    ++passes_;
    return {logits_.data(), DType::kF32, {std::ssize(input.logit_rows), kVocabulary}};
  }

  Task task(std::int64_t most, std::int64_t further_branches) {
    return {.tokens = text_,
            .most = most,
            .pipeline = &pipeline_,
            .pages = {},
            .further_branches = further_branches,
            .drafts = {},
            .distributions = {},
            .branches = {}};
  }
  Task run(std::int64_t most, std::int64_t further_branches) {
    DraftRounds rounds(place_);
    std::vector<Task> tasks = {task(most, further_branches)};
    std::vector<std::int64_t> computed = {0};
    rounds.run(tasks, computed, [this](const model::BatchInput& input) { return forward(input); });
    return tasks[0];
  }

  // From 0 on: 1, 2, 4; with what else there might be, most of it behind the first token.
  std::map<std::int32_t, Row> model_ = {{0, {{1, 0.9}, {5, 0.06}, {6, 0.04}}},
                                        {1, {{2, 0.5}, {3, 0.45}, {7, 0.05}}},
                                        {2, {{4, 0.7}, {6, 0.2}, {7, 0.1}}}};
  std::unique_ptr<backend::Backend> backend_;
  DraftPlace place_;
  std::vector<std::int32_t> text_ = {7, 7, 0};
  decode::LogitsPipeline pipeline_{{.temperature = 0.0}, kVocabulary};
  std::vector<float> logits_;
  int passes_ = 0;
};

struct Fork {
  std::int64_t from;
  std::int32_t token;
  double confidence;
};

void expect_branches(const Task& task, const std::vector<Fork>& forks) {
  ASSERT_EQ(task.branches.size(), forks.size());
  for (std::size_t i = 0; i < forks.size(); ++i) {
    EXPECT_EQ(task.branches[i].from, forks[i].from) << i;
    ASSERT_EQ(task.branches[i].tokens.size(), 1u) << i;
    EXPECT_EQ(task.branches[i].tokens[0].token, forks[i].token) << i;
    EXPECT_NEAR(static_cast<double>(task.branches[i].tokens[0].confidence), forks[i].confidence, 1e-4) << i;
  }
}

TEST_F(DraftRoundsTest, BranchOffWhereSomethingElseIsLikeliest) {
  const Fork best{1, 3, 0.45}, second{2, 6, 0.2}, third{0, 5, 0.06};  // reached with 0.405, 0.09 and 0.06
  expect_branches(run(3, 0), {});
  expect_branches(run(3, 1), {best});
  expect_branches(run(3, 2), {best, second});
  expect_branches(run(3, 3), {best, second, third});
  expect_branches(run(1, 3), {third, {0, 6, 0.04}, {0, 0, 0.0}});  // of a draft of one token
}

TEST_F(DraftRoundsTest, BranchesTakeNoPassAndChangeNoDraft) {
  const Task plain = run(3, 0);
  const int passes = std::exchange(passes_, 0);
  const Task branched = run(3, 3);
  EXPECT_EQ(passes_, passes);
  ASSERT_EQ(branched.drafts.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(branched.drafts[i].token, plain.drafts[i].token);
    EXPECT_EQ(branched.drafts[i].confidence, plain.drafts[i].confidence);
  }
}

TEST_F(DraftRoundsTest, GuessForNoMoreSequencesThanThereIsRoomFor) {
  place_.sequences = 2;
  DraftRounds rounds(place_);
  std::vector<Task> tasks = {task(2, 0), task(2, 0), task(2, 0)};
  std::vector<std::int64_t> computed = {0, 2, 1};
  rounds.run(tasks, computed, [this](const model::BatchInput& input) {
    EXPECT_LE(std::ssize(input.logit_rows), 2);
    return forward(input);
  });
  EXPECT_EQ(tasks[1].drafts.size(), 2u);
  EXPECT_TRUE(tasks[2].drafts.empty());
  EXPECT_EQ(computed, (std::vector<std::int64_t>{3, 3, 1}));
}

}  // namespace
}  // namespace millrace::draft

#include "model/weight_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "backend/testing/test_backend.h"
#include "model/testing/flip_bit.h"
#include "model/testing/random_tokens.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

// A weight of so many parts, of which one may be damaged. Looking at one takes a while.
class WalkedWeight final : public backend::Linear {
 public:
  WalkedWeight(std::size_t parts, std::chrono::milliseconds takes = {}) : looks(parts), takes_(takes) {}
  std::int64_t n() const noexcept override { return 1; }
  std::int64_t k() const noexcept override { return 1; }
  std::size_t packed_bytes() const noexcept override { return 1; }
  std::string description() const override { return "walked"; }
  void unpack_row(std::int64_t, float*) const override {}
  std::size_t checked_parts() const noexcept override { return looks.size(); }
  std::optional<std::string_view> damage(std::size_t part) const noexcept override {
    ++looks[part];
    if (takes_.count() > 0) std::this_thread::sleep_for(takes_);
    return static_cast<int>(part) == damaged ? std::optional<std::string_view>("w") : std::nullopt;
  }
  int all_looks() const {
    int sum = 0;
    for (const std::atomic<int>& of_part : looks) sum += of_part;
    return sum;
  }

  int damaged = -1;
  mutable std::vector<std::atomic<int>> looks;

 private:
  std::chrono::milliseconds takes_;
};

constexpr double kLong = 1e6;  // a step that allows for any walk

TEST(WeightWalk, LooksAtEachPartOnceARound) {
  for (const int threads : {1, 2, 3}) {
    const auto backend = backend::make_test_backend(threads);
    const WalkedWeight first(5), none(0), second(8);
    WeightWalk walk(*backend, {&first, &none, &second}, "m");
    for (std::int64_t rounds = 0; rounds < 4;) {
      walk.after_step(kLong);
      if (walk.rounds() == rounds) continue;
      EXPECT_LE(walk.rounds(), rounds + 1) << "no more than a round after a step";
      rounds = walk.rounds();
      for (const WalkedWeight* weight : {&first, &second}) {
        for (const std::atomic<int>& looks : weight->looks) {
          EXPECT_GE(looks, rounds);
          EXPECT_LE(looks, rounds + 1);
        }
      }
    }
    EXPECT_EQ(walk.damage(), "");
  }
}

TEST(WeightWalk, GoesWithTheTimeOfSteps) {
  const auto backend = backend::make_test_backend(1);
  const WalkedWeight weight(100);
  WeightWalk walk(*backend, {&weight}, "m", 1000.0);
  for (int step = 0; step < 500; ++step) walk.after_step(1.0);
  EXPECT_LE(weight.all_looks(), 50);
  for (int step = 0; step < 10'000 && walk.rounds() == 0; ++step) walk.after_step(kLong);
  EXPECT_EQ(walk.rounds(), 1);
}

// Looking at a part takes as long as is allowed for in four steps.
TEST(WeightWalk, TakesNoMoreThanItsShare) {
  const auto backend = backend::make_test_backend(1);
  const WalkedWeight weight(10, std::chrono::milliseconds(2));
  WeightWalk walk(*backend, {&weight}, "m", 100.0);
  for (int step = 0; step < 40; ++step) walk.after_step(0.5 / WeightWalk::kShare);
  EXPECT_LE(weight.all_looks(), 11);
  EXPECT_GE(weight.all_looks(), 1);
}

TEST(WeightWalk, NamesWhatIsDamagedAndStopsThere) {
  const auto backend = backend::make_test_backend(2);
  WalkedWeight good(6), bad(7);
  bad.damaged = 5;
  WeightWalk walk(*backend, {&good, &bad}, "the/model");
  for (int step = 0; step < 1000 && walk.damage().empty(); ++step) walk.after_step(kLong);
  EXPECT_EQ(walk.damage(), "weight w of the/model has changed in memory since it was loaded");
  const int looks = good.all_looks() + bad.all_looks();
  walk.after_step(kLong);
  EXPECT_EQ(good.all_looks() + bad.all_looks(), looks);
}

TEST(WeightWalk, HasNothingToDoWithoutChecksums) {
  const auto backend = backend::make_test_backend(1);
  const WalkedWeight none(0);
  WeightWalk walk(*backend, {&none}, "m");
  walk.after_step(kLong);
  EXPECT_EQ(walk.rounds(), 0);
}

// Each matrix of a model, wherever it is: none computes on when it has changed.
TEST(WeightWalk, CoversEveryMatrixOfAModel) {
  const std::string path = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama";
  const TestRunner::Options options{.threads = 1, .max_length = 24, .weight_round_ms = 1.0};
  TestRunner runner(path, options);
  std::vector<const backend::Linear*> all;
  for (const backend::Linear* linear : runner.transformer().linears()) all.push_back(linear);
  all.push_back(&runner.transformer().embedding());
  ASSERT_GT(all.size(), 8u);
  for (const backend::Linear* linear : all) {
    TestRunner damaged(path, options);
    const auto same = [&](const Transformer& model) -> const backend::Linear& {
      if (linear == &runner.transformer().embedding()) return model.embedding();
      return *model.linears()[static_cast<std::size_t>(std::ranges::find(all, linear) - all.begin())];
    };
    flip_bit(same(damaged.transformer()), 7);
    EXPECT_THROW(
        for (int step = 0; step < 20'000 && damaged.transformer().notes().weight_rounds == 0;
             ++step) { damaged.run_whole(random_tokens(8, 1)); },
        DamagedWeights);
  }
  while (runner.transformer().notes().weight_rounds < 2) runner.run_whole(random_tokens(8, 1));
}

}  // namespace
}  // namespace millrace::model

// Rules that sample other tokens than there would be without speculation sample them from the same distribution.

#include <cmath>

#include "engine/speculation.h"
#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

constexpr int kAnswers = 3000;
constexpr std::int32_t kFirstLetter = 3, kLetters = 6;

class SpeculationDistributionTest : public EngineTest {
 protected:
  using Counts = std::vector<double>;

  // How often each triple of letters came in answers to one prompt: tokens 1 to 3, which speculation may draft.
  Counts counts_of(Engine& engine, std::uint64_t first_seed) {
    Counts counts(kLetters * kLetters * kLetters, 0.0);
    for (std::uint64_t i = 0; i < kAnswers; ++i) {
      Request r = request(12, 1, 4);
      r.sampling.temperature = 1.0;
      r.sampling.seed = first_seed + i;
      for (std::int32_t letter = 0; letter < kLetters; ++letter) {
        r.sampling.allowed_token_ids.push_back(kFirstLetter + letter);
      }
      engine.submit(r).or_throw();
      if (i % 100 < 99) continue;
      for (const auto& [id, answer] : drain(engine)) {
        std::size_t cell = 0;
        for (std::size_t j = 1; j < 4; ++j) {
          cell = cell * kLetters + static_cast<std::size_t>(answer.tokens[j] - kFirstLetter);
        }
        ++counts[cell];
      }
    }
    return counts;
  }

  std::unique_ptr<Engine> engine_with(const decode::VerificationRule& rule, const char* method) {
    auto engine = make();
    engine->speculate(drafter(method, {}), SpeculationConfig{.tokens = 3, .adaptive = false, .rule = &rule});
    return engine;
  }

  // Chi-square of two samples of one size; below that with a probability of all but 1 in 30,000 if they are alike.
  static bool alike(const Counts& a, const Counts& b) {
    double sum = 0.0, cells = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (a[i] + b[i] < 10.0) continue;  // too few to be normal
      sum += (a[i] - b[i]) * (a[i] - b[i]) / (a[i] + b[i]);
      ++cells;
    }
    EXPECT_GT(cells, 20.0);
    return sum < cells - 1.0 + 4.0 * std::sqrt(2.0 * (cells - 1.0));
  }
};

TEST_F(SpeculationDistributionTest, IsTheSameByEveryRule) {
  const Counts plain = counts_of(*make(), 1);
  for (const char* name : {"rejection", "google"}) {
    const auto engine = engine_with(*decode::find_verification_rule(name), "early-exit");
    EXPECT_TRUE(alike(counts_of(*engine, 1'000'000), plain)) << name;
    EXPECT_GT(engine->counters().accepted_tokens, kAnswers / 10) << name;
    EXPECT_LT(engine->counters().accepted_tokens, engine->counters().drafted_tokens * 9 / 10) << name;
  }
}

// That the comparison can fail: accepting every draft token samples from the drafter's distribution.
TEST_F(SpeculationDistributionTest, IsAnotherWhereEveryGuessIsTaken) {
  decode::VerificationRule credulous = *decode::find_verification_rule("rejection");
  credulous.next = [](decode::LogitsPipeline& target, std::span<const float> logits, std::int64_t position,
                      const std::optional<decode::DraftedToken>& drafted) -> Result<decode::Verdict> {
    if (drafted) return decode::Verdict{drafted->token, true};
    const auto token = target.sample(logits, position);
    if (!token) return token.error();
    return decode::Verdict{*token, false};
  };
  EXPECT_FALSE(alike(counts_of(*engine_with(credulous, "early-exit"), 1'000'000), counts_of(*make(), 1)));
}

}  // namespace
}  // namespace millrace::engine

// Mixtures of experts in the engine: which experts steps read, as reports and answers tell it; a router without numbers
// fails its request alone.

#include <cmath>
#include <limits>

#include "engine/testing/engine_fixture.h"
#include "model/testing/changed_model.h"

namespace millrace::engine {
namespace {

const std::string kMixtral = std::string(MILLRACE_TEST_DATA) + "/../golden/families/mixtral";
constexpr std::int64_t kMixtralLayers = 2, kMixtralExperts = 6, kMixtralChosen = 2;

class ExpertUseTest : public EngineTest {
 protected:
  explicit ExpertUseTest(const std::string& model = kMixtral) : EngineTest(model) {}
};

TEST_F(ExpertUseTest, IsToldOfEveryStepAndAnswer) {
  const auto engine = make();
  const double of_expert = transformer_.part().ranks() *
                           (transformer_.weight_bytes(1e9) - transformer_.weight_bytes(0)) /
                           (kMixtralLayers * kMixtralExperts);
  model::ExpertUse of_decoding;
  int prompts = 0, tokens = 0;
  engine->reporter().observe([&](const StepReport& report) {
    const model::ExpertUse& use = report.experts;
    const std::int64_t rows = report.prefill_tokens + report.decode_tokens;
    EXPECT_EQ(use.layers, kMixtralLayers);
    EXPECT_EQ(use.experts, kMixtralLayers * kMixtralExperts);
    EXPECT_NEAR(use.bytes, of_expert * static_cast<double>(use.touched), 1e-6);
    EXPECT_EQ(use.even, kMixtralLayers * ((rows * kMixtralChosen + kMixtralExperts - 1) / kMixtralExperts));
    if (rows == 1) {
      EXPECT_EQ(use.touched, kMixtralLayers * kMixtralChosen);
      EXPECT_EQ(use.busiest, kMixtralLayers);
      EXPECT_EQ(use.imbalance(), 1.0);
      of_decoding += use;
      ++tokens;
    } else {
      EXPECT_GT(use.touched, kMixtralLayers * kMixtralChosen);
      EXPECT_LE(use.touched, kMixtralLayers * kMixtralExperts);
      EXPECT_GE(use.busiest, use.even);
      EXPECT_LE(use.busiest, kMixtralLayers * rows);
      ++prompts;
    }
  });
  const RequestId id = engine->submit(request(30, 3, 9)).or_throw();
  const Output last = drain(*engine, id).at(0).last;
  EXPECT_EQ(prompts, 1);
  EXPECT_EQ(tokens, 8);
  ASSERT_NE(last.spent, nullptr);
  EXPECT_EQ(last.spent->decode_experts.touched, of_decoding.touched);
  EXPECT_EQ(last.spent->decode_experts.layers, 8 * kMixtralLayers);
  EXPECT_DOUBLE_EQ(last.spent->decode_experts.touched_per_layer(), kMixtralChosen);
  EXPECT_DOUBLE_EQ(last.spent->decode_experts.experts_per_layer(), kMixtralExperts);
  EXPECT_DOUBLE_EQ(last.spent->decode_experts.bytes, of_decoding.bytes);
}

// Steps of two answers touch more than those of one, and no more than twice as many.
TEST_F(ExpertUseTest, GrowsWithTheRowsOfAStep) {
  const auto engine = make();
  const RequestId first = engine->submit(request(12, 3, 20)).or_throw();
  engine->submit(request(12, 5, 20)).or_throw();
  const model::ExpertUse use = drain(*engine, first).at(0).last.spent->decode_experts;
  EXPECT_GT(use.touched_per_layer(), kMixtralChosen);
  EXPECT_LE(use.touched_per_layer(), 2 * kMixtralChosen);
}

class DenseUseTest : public EngineTest {};

TEST_F(DenseUseTest, IsNone) {
  const auto engine = make();
  engine->reporter().observe([](const StepReport& report) { EXPECT_EQ(report.experts.layers, 0); });
  const RequestId id = engine->submit(request(30, 3, 5)).or_throw();
  EXPECT_EQ(drain(*engine, id).at(0).last.spent->decode_experts.layers, 0);
}

constexpr std::int32_t kWithoutNumbers = 13;

// A token with NaN in its embedding, so that routers have no numbers for its rows.
std::string with_broken_token() {
  return model::write_changed(kMixtral, "broken_router", [](model::ChangedWeights& weights) {
    auto& embedding = weights.at("model.embed_tokens.weight");
    embedding.values[static_cast<std::size_t>(kWithoutNumbers * embedding.shape[1])] =
        std::numeric_limits<float>::quiet_NaN();
  });
}

class BrokenRouterTest : public ExpertUseTest {
 protected:
  BrokenRouterTest() : ExpertUseTest(with_broken_token()) {}
  Request without(Request r) {
    for (std::int32_t& token : r.tokens) token = token == kWithoutNumbers ? 14 : token;
    r.sampling.logit_bias = {{kWithoutNumbers, -100.0f}};
    return r;
  }
};

TEST_F(BrokenRouterTest, FailsItsRequestAndNoOther) {
  const Request well = without(request(30, 4, 12));
  Request broken = without(request(30, 6, 12));
  broken.tokens.back() = kWithoutNumbers;
  const auto alone = make();
  const Collected expected = drain(*alone, alone->submit(well).or_throw()).at(0);
  ASSERT_EQ(expected.tokens.size(), 12u);
  const auto together = make();
  const RequestId first = together->submit(broken).or_throw(), second = together->submit(well).or_throw();
  auto answers = drain(*together);
  EXPECT_EQ(answers.at(first).last.finish, FinishReason::kError);
  ASSERT_TRUE(answers.at(first).last.error);
  EXPECT_EQ(answers.at(first).last.error->code, ErrorCode::kInternal);
  EXPECT_EQ(answers.at(second).tokens, expected.tokens);
  EXPECT_EQ(together->counters().numerical_errors, 1);
  together->check_integrity();
}

}  // namespace
}  // namespace millrace::engine

#include "model/quantization_choice.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "model/make_spec.h"
#include "model/testing/runner.h"
#include "model/weight_errors.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

class Choosing : public testing::Test {
 protected:
  void open(const std::string& golden) {
    checkpoint =
        checkpoint::open_checkpoint(Env::system(), fs::path(MILLRACE_TEST_DATA) / "../golden" / golden).or_throw();
    spec = make_spec(*checkpoint).or_throw();
  }
  QuantizationChoices choices(std::uint64_t memory) {
    return choose_quantization(*checkpoint, spec, *backend, {.length = 64, .sequences = 1}, memory);
  }
  std::unique_ptr<checkpoint::Checkpoint> checkpoint;
  ModelSpec spec;
  std::unique_ptr<backend::Backend> backend = backend::make_test_backend(1, "");
};

TEST_F(Choosing, TakesTheLeastErrorThatFits) {
  open("tiny/llama");
  const QuantizationChoices plenty = choices(std::uint64_t{1} << 30);
  ASSERT_NE(plenty.best, nullptr);
  EXPECT_EQ(plenty.best->quantization.name, "");
  EXPECT_EQ(plenty.best->error, 0.0);
  for (std::size_t i = 1; i < plenty.all.size(); ++i) EXPECT_GE(plenty.all[i].error, plenty.all[i - 1].error);
  const auto& q8_0 =
      *std::ranges::find(plenty.all, "q8_0", [](const QuantizationChoice& c) { return c.quantization.name; });
  EXPECT_GT(q8_0.error, 0.001);
  EXPECT_LT(q8_0.error, 0.01);
  EXPECT_EQ(choices(plenty.best->plan.total() - 1).best->quantization.name, "q8_0");
  EXPECT_EQ(choices(1000).best, nullptr);
  EXPECT_NE(choices(1000).table().back().find("too large"), std::string::npos);
  EXPECT_NE(plenty.table()[1].find("as stored"), std::string::npos);
}

TEST_F(Choosing, LeavesWhatIsQuantizedAlready) {
  open("gptq/v1_sym4");
  const QuantizationChoices choices_of_gptq = choices(std::uint64_t{1} << 30);
  ASSERT_EQ(choices_of_gptq.all.size(), 1u);
  EXPECT_EQ(choices_of_gptq.best->quantization.name, "");
}

TEST_F(Choosing, WeightErrorsAreThoseOfEachMatrix) {
  open("tiny/llama");
  const auto q4_0 = choose_load_quantization("q4_0", *checkpoint).or_throw();
  const std::vector<WeightError> errors = weight_errors({*checkpoint, spec, q4_0}, {*checkpoint, spec});
  EXPECT_EQ(errors.size(), 2 + 7 * spec.layers.size());
  for (const WeightError& error : errors) {
    const bool outer = error.format->name == "q8_0";
    EXPECT_GT(error.relative, outer ? 0.001 : 0.02) << error.name;
    EXPECT_LT(error.relative, outer ? 0.01 : 0.15) << error.name;
    EXPECT_GT(error.largest, 0.0);
  }
  for (const WeightError& error : weight_errors({*checkpoint, spec}, {*checkpoint, spec})) {
    EXPECT_EQ(error.relative, 0.0) << error.name;
  }
}

}  // namespace
}  // namespace millrace::model

// The real model against Hugging Face Transformers on the same dequantized weights (tests/golden/make_real.py): the
// same greedy text but for near-ties. MILLRACE_TEST_MODEL names the file.

#include <gtest/gtest.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "model/testing/runner.h"

namespace millrace::model {
namespace {

nlohmann::json golden_cases() {
  const std::string path = std::string(MILLRACE_TEST_DATA) + "/../golden/real_model.json";
  return nlohmann::json::parse(read_file(Env::system(), path, 1 << 20).or_throw()).at("cases");
}

struct Policy {
  const char* name;
  backend::MatmulPrecision precision;
  std::string_view kv;
  double near_tie;  // a choice may differ where the reference's two best logits are closer than this
};

class RealModel : public testing::TestWithParam<Policy> {};

TEST_P(RealModel, ChoosesTheTokensThatTransformersChooses) {
  const char* path = std::getenv("MILLRACE_TEST_MODEL");
  if (path == nullptr) GTEST_SKIP() << "MILLRACE_TEST_MODEL is not set";
  TestRunner runner(path, {.kv = GetParam().kv, .precision = GetParam().precision});
  int choices = 0, differing = 0;
  for (const nlohmann::json& golden : golden_cases()) {
    auto tokens = golden["prompt_ids"].get<std::vector<std::int32_t>>();
    const auto prompt = runner.checkpoint().tokenizer->encode(golden["prompt"].get<std::string>(), false);
    ASSERT_EQ(prompt, tokens) << golden["prompt"];
    const auto expected = golden["greedy_ids"].get<std::vector<std::int32_t>>();
    const auto margins = golden["margins"].get<std::vector<double>>();
    const std::size_t first = tokens.size() - 1;
    tokens.insert(tokens.end(), expected.begin(), expected.end() - 1);
    const std::vector<float> logits = runner.run_whole(tokens);
    const auto vocabulary = static_cast<std::ptrdiff_t>(runner.transformer().spec().vocab_size);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto row = logits.begin() + static_cast<std::ptrdiff_t>(first + i) * vocabulary;
      const auto best = static_cast<std::int32_t>(std::max_element(row, row + vocabulary) - row);
      ++choices;
      if (best == expected[i]) continue;
      ++differing;
      EXPECT_LT(margins[i], GetParam().near_tie) << "token " << i << " after " << golden["prompt"];
    }
    EXPECT_EQ(runner.checkpoint().tokenizer->decode(expected, true), golden["text"].get<std::string>());
  }
  std::printf("  %-6s %d of %d greedy choices equal, the others near-ties below %g\n", GetParam().name,
              choices - differing, choices, GetParam().near_tie);
}

INSTANTIATE_TEST_SUITE_P(Policies, RealModel,
                         testing::Values(Policy{"f32", backend::MatmulPrecision::kF32, "f32", 0.001},
                                         Policy{"auto", backend::MatmulPrecision::kAuto, "bf16", 0.5}),
                         [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace millrace::model

// Mixtures from files: the bytes that a step reads of them; golden ones with one thing wrong in their tensors, rejected
// whole and by the name of the tensor.

#include <gtest/gtest.h>

#include "model/testing/changed_model.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

const std::string kMixtures = std::string(MILLRACE_TEST_DATA) + "/../golden/families/";

// "good", or why the changed family is rejected, behind the path.
std::string changed_outcome(const std::string& family, const std::function<void(ChangedWeights&)>& change) {
  const std::string directory = write_changed(kMixtures + family, "bad_" + family, change);
  try {
    TestRunner runner(directory, {.max_length = 32});
  } catch (const LoadError& failure) {
    const std::string& message = failure.error().message;
    return message.starts_with(directory) ? message.substr(directory.size()) : message;
  }
  return "good";
}

TEST(BadExperts, AreNamedByTheirTensors) {
  constexpr const char* kExpert = "model.layers.1.block_sparse_moe.experts.2.w1.weight";
  constexpr const char* kRouter = "model.layers.0.block_sparse_moe.gate.weight";
  EXPECT_EQ(changed_outcome("mixtral", [](ChangedWeights&) {}), "good");
  EXPECT_EQ(changed_outcome("mixtral", [](ChangedWeights& w) { w.erase(kExpert); }),
            std::string(": tensor '") + kExpert + "' is missing; expected shape [12, 24]");
  EXPECT_EQ(changed_outcome("mixtral", [](ChangedWeights& w) { w.cut_rows(kExpert, 10); }),
            std::string(": tensor '") + kExpert + "' has shape [10, 24]; expected [12, 24]");
  EXPECT_EQ(changed_outcome("mixtral", [](ChangedWeights& w) { w.cut_rows(kRouter, 5); }),
            std::string(": tensor '") + kRouter + "' has shape [5, 24]; expected [6, 24]");
  EXPECT_EQ(changed_outcome("gpt_oss", [](ChangedWeights& w) { w.erase("model.layers.1.mlp.router.bias"); }),
            ": tensor 'model.layers.1.mlp.router.bias' is missing; expected shape [6]");
  EXPECT_EQ(changed_outcome("gpt_oss", [](ChangedWeights& w) { w.erase("model.layers.0.mlp.experts.down_proj_bias"); }),
            ": tensor 'model.layers.0.mlp.experts.down_proj_bias' is missing; expected shape [6, 24]");
  // One expert more than the configuration says.
  EXPECT_EQ(changed_outcome("mixtral",
                            [&](ChangedWeights& w) {
                              w.tensors["model.layers.1.block_sparse_moe.experts.6.w1.weight"] = w.at(kExpert);
                            }),
            ": tensor 'model.layers.1.block_sparse_moe.experts.6.w1.weight' [12, 24] is not part of a mixtral model of "
            "this configuration");
}

// Two of six experts for one row, nearly all for many.
TEST(ExpertBytes, AreOfThoseThatRowsChoose) {
  const TestRunner runner(kMixtures + "mixtral", {.max_length = 32});
  const Transformer& model = runner.transformer();
  double experts = 0.0;
  for (const backend::Linear* linear : model.linears()) {
    if (linear->experts() > 1) experts += static_cast<double>(linear->packed_bytes());
  }
  const double all = model.weight_bytes(1e6), others = all - experts;
  EXPECT_GT(experts, 0.0);
  EXPECT_GT(others, 0.0);
  EXPECT_DOUBLE_EQ(model.weight_bytes(1.0), others + experts * 2 / 6);
  EXPECT_DOUBLE_EQ(model.weight_bytes(2.0), others + experts * (1.0 - 4.0 / 6 * 4 / 6));
}

}  // namespace
}  // namespace millrace::model

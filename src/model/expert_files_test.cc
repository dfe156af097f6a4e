// Mixtures from files: the bytes that a step reads of them; golden ones with one thing wrong in their tensors, rejected
// whole and by the name of the tensor.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>

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

// "good", or why the GGUF file of a family is rejected, behind the path, when it says another number under that key.
std::string outcome_with(const std::string& family, const std::string& key, std::uint32_t value) {
  std::ifstream in(kMixtures + family + "/model.gguf", std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  const std::size_t at = bytes.find(key);
  EXPECT_NE(at, std::string::npos) << key;
  std::memcpy(&bytes[at + key.size() + sizeof(std::uint32_t)], &value, sizeof value);  // behind the type
  const std::string path = testing::TempDir() + "millrace_" + std::to_string(getpid()) + "_" + family + ".gguf";
  std::ofstream(path, std::ios::binary) << bytes;
  std::string outcome = "good";
  try {
    TestRunner runner(path, {.max_length = 32});
  } catch (const LoadError& failure) {
    outcome = failure.error().message;
    if (outcome.starts_with(path)) outcome = outcome.substr(path.size());
  }
  std::filesystem::remove(path);
  return outcome;
}

TEST(BadExperts, OfGgufThatItsCountsDoNotFitAreNamedByTheirTensors) {
  EXPECT_EQ(outcome_with("mixtral", "llama.expert_count", 6), "good");
  EXPECT_EQ(outcome_with("mixtral", "llama.expert_count", 5),
            ": tensor 'blk.0.ffn_gate_inp.weight' has shape [6, 24]; expected [5, 24]");
  EXPECT_EQ(outcome_with("mixtral", "llama.expert_count", 7),
            ": tensor 'blk.0.ffn_gate_inp.weight' has shape [6, 24]; expected [7, 24]");
  EXPECT_EQ(outcome_with("mixtral", "llama.expert_count", 0),
            ": tensor 'blk.0.ffn_gate.weight' is missing; expected shape [12, 24]");
  EXPECT_EQ(outcome_with("mixtral", "llama.expert_used_count", 7),
            "num_experts_per_tok is 7: must be in [1, 6], the experts");
  EXPECT_EQ(outcome_with("glm4_moe", "glm4moe.expert_group_count", 4),
            "n_group is 4: must be a divisor of the 6 experts");
  EXPECT_EQ(outcome_with("gpt_oss", "gpt-oss.expert_count", 4000000000u),
            ": key 'gpt-oss.expert_count': expected 1 to 2147483647, found 4000000000");
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

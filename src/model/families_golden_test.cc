// Logits of a tiny checkpoint of every family against Hugging Face Transformers (tests/golden/make_families.py): from
// safetensors in both spellings of config.json, and from what llama.cpp's converter made of it.

#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "model/computation_key.h"
#include "model/memory_plan.h"
#include "model/testing/changed_model.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

// The largest difference, in units of the largest logit.
double relative_error(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size()) return INFINITY;
  double largest = 0.0, error = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    error = std::isnan(difference) ? INFINITY : std::max(error, difference);
    largest = std::max(largest, static_cast<double>(std::abs(expected[i])));
  }
  return error / largest;
}

std::vector<std::vector<TestRunner::Chunk>> one_by_one(std::size_t tokens) {
  return std::vector<std::vector<TestRunner::Chunk>>(tokens, {{0, 1}});
}

// The families that have a file of that name.
std::vector<fs::path> families_with(const char* file) {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/families")) {
    if (fs::exists(folder.path() / file)) folders.push_back(folder.path());
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

class GoldenFamily : public testing::TestWithParam<fs::path> {
 protected:
  // The file's logits of these tokens, as a whole and token by token, are the golden ones.
  void expect_golden(const fs::path& model, const GoldenLogits& golden, const char* what) const {
    const auto length = static_cast<std::int64_t>(golden.tokens.size());
    TestRunner runner(model, {.precision = backend::MatmulPrecision::kF32, .max_length = length});
    const double whole = relative_error(runner.run_whole(golden.tokens), golden.logits);
    const double single =
        relative_error(runner.run({golden.tokens}, one_by_one(golden.tokens.size()))[0], golden.logits);
    std::printf("  %-28s %-12s max error %.2e\n", GetParam().filename().c_str(), what, std::max(whole, single));
    EXPECT_LE(whole, 1e-4) << what << ", the whole prompt";
    EXPECT_LE(single, 1e-4) << what << ", token by token";
  }
};

TEST_P(GoldenFamily, SafetensorsEqualTransformers) {
  expect_golden(GetParam(), read_golden(GetParam()), "safetensors");
  if (!fs::exists(GetParam() / "expected_short.json")) return;
  expect_golden(GetParam(), read_golden(GetParam(), "expected_short"), "short");
}

class GoldenHubSpelling : public GoldenFamily {};
class GoldenTwin : public GoldenFamily {};

TEST_P(GoldenHubSpelling, SaysTheSame) {
  const fs::path spelling = GetParam() / "config.hub.json";
  const fs::path folder =
      fs::path(testing::TempDir()) / fmt::format("hub_{}_{}", GetParam().filename().string(), ::getpid());
  fs::create_directories(folder);
  fs::copy_file(spelling, folder / "config.json", fs::copy_options::overwrite_existing);
  fs::copy_file(GetParam() / "model.safetensors", folder / "model.safetensors", fs::copy_options::overwrite_existing);
  const auto ours = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const auto theirs = checkpoint::open_checkpoint(Env::system(), folder).or_throw();
  ModelSpec one = make_spec(*ours).or_throw(), other = make_spec(*theirs).or_throw();
  one.context_length = other.context_length;  // which some classes do not have
  EXPECT_EQ(computation_key(one), computation_key(other));
  expect_golden(folder, read_golden(GetParam()), "hub");
  fs::remove_all(folder);
}

TEST_P(GoldenTwin, GgufEqualsTransformers) {
  expect_golden(GetParam() / "model.gguf", read_golden(GetParam()), "gguf");
}

TEST_P(GoldenFamily, TakesWhatTheMemoryPlanSays) {
  TestRunner runner(GetParam().string(), {.kv = "bf16"});
  const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), runner.transformer().spec(),
                                      runner.backend(), {.kv = {.encoding = "bf16"}, .length = 33});
  const Transformer& model = runner.transformer();
  EXPECT_EQ(plan.weights, model.weight_bytes());
  EXPECT_NEAR(static_cast<double>(plan.experts), model.weight_bytes(1e9) - model.weight_bytes(0), 0.5);
}

// A head beside the embedding counts if it is another matrix, although the configuration says that they are tied.
TEST(TiedHead, IsTheFilesOwnWhereItDiffers) {
  const std::string tiny = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama_tied_biased";
  const auto with_head = [&](const char* name, float factor) {
    return write_changed(tiny, name, [&](ChangedWeights& weights) {
      ChangedWeights::Tensor head = weights.at("model.embed_tokens.weight");
      for (float& value : head.values) value *= factor;
      weights.tensors["lm_head.weight"] = std::move(head);
    });
  };
  const TestRunner::Options options{.max_length = 64};
  const std::vector<std::int32_t> tokens = {5, 9, 14, 3};
  const std::vector<float> tied = TestRunner(tiny, options).run_whole(tokens);
  EXPECT_EQ(TestRunner(with_head("same_head", 1.0f), options).run_whole(tokens), tied);
  std::vector<float> own = TestRunner(with_head("own_head", 2.0f), options).run_whole(tokens);
  for (float& logit : own) logit /= 2.0f;
  EXPECT_EQ(own, tied);
}

// Short and long sequences in one step, each rotated by its own length.
TEST(RopeLength, IsEachSequencesOwn) {
  const fs::path folder = fs::path(MILLRACE_TEST_DATA) / "../golden/families/phi3_longrope";
  const GoldenLogits small = read_golden(folder, "expected_short"), large = read_golden(folder);
  TestRunner runner(folder, {.precision = backend::MatmulPrecision::kF32, .max_length = 96, .rotates_by_length = true});
  std::vector<std::vector<TestRunner::Chunk>> steps;
  for (std::int64_t left = std::ssize(large.tokens), small_left = std::ssize(small.tokens); left > 0;) {
    const std::int64_t n = std::min<std::int64_t>(left, 7), m = std::min<std::int64_t>(small_left, 4);
    steps.push_back({{1, n}});
    if (m > 0) steps.back().insert(steps.back().begin(), {0, m});
    left -= n;
    small_left -= m;
  }
  const auto logits = runner.run({small.tokens, large.tokens}, steps);
  EXPECT_LE(relative_error(logits[0], small.logits), 1e-4);
  EXPECT_LE(relative_error(logits[1], large.logits), 1e-4);
  EXPECT_EQ(runner.transformer().rope_length(24), 0);
  EXPECT_EQ(runner.transformer().rope_length(25), runner.transformer().rope_length(96));
}

std::string folder_name(const testing::TestParamInfo<fs::path>& tested) { return tested.param.filename().string(); }

INSTANTIATE_TEST_SUITE_P(Families, GoldenFamily, testing::ValuesIn(families_with("config.json")), folder_name);
INSTANTIATE_TEST_SUITE_P(Families, GoldenHubSpelling, testing::ValuesIn(families_with("config.hub.json")), folder_name);
INSTANTIATE_TEST_SUITE_P(Families, GoldenTwin, testing::ValuesIn(families_with("model.gguf")), folder_name);

}  // namespace
}  // namespace millrace::model

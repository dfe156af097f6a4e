// Logits of tiny random checkpoints against Hugging Face Transformers, for every family (tests/golden/make_tiny.py),
// and against NumPy in float64 where values are of another size than keys (tests/golden/make_values.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

double max_error(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double error = std::abs(static_cast<double>(a[i]) - b[i]);
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  return largest;
}

std::vector<fs::path> golden_models() {
  std::vector<fs::path> models;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/tiny")) {
    if (fs::exists(folder.path() / "config.json")) models.push_back(folder.path());
    if (fs::exists(folder.path() / "model.gguf")) models.push_back(folder.path() / "model.gguf");
  }
  std::sort(models.begin(), models.end());
  return models;
}

class GoldenModel : public testing::TestWithParam<fs::path> {
 protected:
  fs::path folder() const { return fs::is_directory(GetParam()) ? GetParam() : GetParam().parent_path(); }
};

TEST_P(GoldenModel, LogitsEqualTheReference) {
  const GoldenLogits golden = read_golden(folder());
  TestRunner runner(GetParam(), {.max_length = static_cast<std::int64_t>(golden.tokens.size())});
  const double error = max_error(runner.run_whole(golden.tokens), golden.logits);
  std::printf("  %-32s max error %.2e\n",
              (folder().filename().string() + (fs::is_directory(GetParam()) ? "" : " (gguf)")).c_str(), error);
  RecordProperty("max_error", std::to_string(error));
  EXPECT_LE(error, 1e-4);
}

TEST_P(GoldenModel, NarrowKvStaysNearTheReference) {
  const GoldenLogits golden = read_golden(folder());
  const std::int64_t length = static_cast<std::int64_t>(golden.tokens.size());
  for (const auto& [encoding, bound] : {std::pair{"f16", 0.02}, {"bf16", 0.15}}) {
    TestRunner runner(GetParam(), {.kv = encoding, .max_length = length});
    const double error = max_error(runner.run_whole(golden.tokens), golden.logits);
    EXPECT_LE(error, bound) << encoding;
    EXPECT_GT(error, 0.0) << encoding << ": the cache was not narrow";
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenModel, testing::ValuesIn(golden_models()), [](const auto& tested) {
  const fs::path& path = tested.param;
  return fs::is_directory(path) ? path.filename().string() : path.parent_path().filename().string() + "_gguf";
});

}  // namespace
}  // namespace millrace::model

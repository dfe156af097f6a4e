// GPTQ checkpoints against the logits of their dequantized twins (tests/golden/make_gptq.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "model/memory_plan.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> gptq_models() {
  std::vector<fs::path> models;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/gptq")) {
    models.push_back(folder.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

class GptqModel : public testing::TestWithParam<fs::path> {
 protected:
  double error(backend::MatmulPrecision precision) const {
    const GoldenLogits golden = read_golden(GetParam());
    TestRunner runner(GetParam(),
                      {.precision = precision, .max_length = static_cast<std::int64_t>(golden.tokens.size())});
    const std::vector<float> logits = runner.run_whole(golden.tokens);
    EXPECT_EQ(logits.size(), golden.logits.size());
    double largest = 0.0;
    for (std::size_t i = 0; i < std::min(logits.size(), golden.logits.size()); ++i) {
      const double difference = std::abs(static_cast<double>(logits[i]) - golden.logits[i]);
      largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
    }
    return largest;
  }
};

TEST_P(GptqModel, AnswersAsItsDequantizedTwinInFloat32) { EXPECT_LE(error(backend::MatmulPrecision::kF32), 1e-4); }

TEST_P(GptqModel, StaysNearItWithInt8Activations) {
  EXPECT_LE(error(backend::MatmulPrecision::kAuto), 0.5);
  EXPECT_LE(error(backend::MatmulPrecision::kInt8x2), 0.01);
}

// Bytes that ranges() does not name must not change a row.
TEST_P(GptqModel, RowsNeedOnlyTheirRanges) {
  const auto whole = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const auto weights = std::make_unique<CheckpointWeights>(*whole);
  for (const MatrixInfo& matrix : weights->quantized_matrices()) {
    const auto weight = weights->open(matrix.name, matrix.rows, matrix.cols);
    const std::size_t row_bytes = matrix.format->row_bytes(matrix.cols);
    std::vector<std::byte> all(row_bytes * static_cast<std::size_t>(matrix.rows)), rows(3 * row_bytes);
    weight->read(0, matrix.rows, all);
    weight->read(5, 3, rows);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin() + static_cast<std::ptrdiff_t>(5 * row_bytes)));
    std::uint64_t bytes = 0, stored = 0;
    for (const TensorRange& range : weight->ranges(0, matrix.rows)) bytes += range.bytes * range.runs;
    for (const auto* tensor : weight->tensors) stored += tensor->bytes;
    EXPECT_EQ(bytes, stored) << matrix.name;
    for (const TensorRange& range : weight->ranges(5, 3)) {
      EXPECT_LE(range.offset + range.bytes + (range.runs - 1) * range.stride, range.tensor->bytes) << matrix.name;
      EXPECT_EQ(range.tensor->name.ends_with("g_idx"), range.bytes == range.tensor->bytes) << range.tensor->name;
    }
  }
}

TEST_P(GptqModel, IsPlannedAsItIsPacked) {
  const GoldenLogits golden = read_golden(GetParam());
  TestRunner runner(GetParam(), {.max_length = 48});
  const MemoryPlan plan =
      plan_memory(runner.checkpoint(), runner.transformer().spec(), runner.backend(), {.length = 48});
  EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
}

INSTANTIATE_TEST_SUITE_P(Golden, GptqModel, testing::ValuesIn(gptq_models()),
                         [](const auto& tested) { return tested.param.filename().string(); });

}  // namespace
}  // namespace millrace::model

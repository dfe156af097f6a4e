// GPTQ checkpoints against what they mean and the logits of their dequantized twins: those of
// tests/golden/make_gptq.py, which imitates AutoGPTQ, and those that GPTQModel wrote (tests/golden/make_gptqmodel.py).

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>

#include "base/sha256.h"
#include "model/memory_plan.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> gptq_models() {
  std::vector<fs::path> models;
  for (const char* maker : {"gptq", "gptqmodel"}) {
    for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden" / maker)) {
      models.push_back(folder.path());
    }
  }
  std::sort(models.begin(), models.end());
  return models;
}

std::vector<MatrixInfo> quantized(const CheckpointWeights& weights) {
  std::vector<MatrixInfo> all(weights.matrices().begin(), weights.matrices().end());
  std::erase_if(all, [](const MatrixInfo& matrix) { return matrix.tensors.size() == 1; });
  return all;
}

// Row by row, the values in the order of the matrix.
std::vector<float> values_of(const StoredWeight& weight, std::int64_t rows, std::int64_t cols) {
  std::vector<std::byte> raw(weight.format->row_bytes(cols) * static_cast<std::size_t>(rows));
  std::vector<float> stored(static_cast<std::size_t>(rows * cols));
  weight.read(0, rows, raw);
  weight.format->unpack(raw.data(), stored);
  if (weight.columns.empty()) return stored;
  std::vector<float> values(stored.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    const std::size_t row = i / static_cast<std::size_t>(cols), column = i % static_cast<std::size_t>(cols);
    values[row * static_cast<std::size_t>(cols) + static_cast<std::size_t>(weight.columns[column])] = stored[i];
  }
  return values;
}

std::string sha256(std::span<const float> values) {
  Sha256 hash;
  hash.update(std::as_bytes(values));
  return hex(hash.finish());
}

// exp of the mean of -log p(token t + 1 | tokens up to t).
double perplexity(const std::vector<std::int32_t>& tokens, std::span<const float> logits) {
  const std::size_t width = logits.size() / tokens.size();
  double sum = 0.0;
  for (std::size_t t = 0; t + 1 < tokens.size(); ++t) {
    const std::span<const float> row = logits.subspan(t * width, width);
    double total = 0.0;
    for (const float logit : row) total += std::exp(static_cast<double>(logit));
    sum += std::log(total) - row[static_cast<std::size_t>(tokens[t + 1])];
  }
  return std::exp(sum / static_cast<double>(tokens.size() - 1));
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    largest = std::isnan(difference) ? INFINITY : std::max(largest, difference);
  }
  return largest;
}

class GptqModel : public testing::TestWithParam<fs::path> {
 protected:
  std::vector<float> logits(backend::MatmulPrecision precision) const {
    const std::vector<std::int32_t> tokens = read_golden(GetParam()).tokens;
    TestRunner runner(GetParam(), {.precision = precision, .max_length = static_cast<std::int64_t>(tokens.size())});
    return runner.run_whole(tokens);
  }
  double error(backend::MatmulPrecision precision) const {
    return largest_difference(logits(precision), read_golden(GetParam()).logits);
  }
};

TEST_P(GptqModel, AnswersAsItsDequantizedTwinInFloat32) { EXPECT_LE(error(backend::MatmulPrecision::kF32), 1e-4); }

TEST_P(GptqModel, StaysNearItWithInt8Activations) {
  EXPECT_LE(error(backend::MatmulPrecision::kAuto), 0.5);
  EXPECT_LE(error(backend::MatmulPrecision::kInt8x2), 0.01);
}

TEST_P(GptqModel, LogitsHaveTheSameBitsInStepsOfAnySize) {
  const std::vector<std::int32_t> tokens = read_golden(GetParam()).tokens;
  const auto length = static_cast<std::int64_t>(tokens.size());
  TestRunner runner(GetParam(), {.threads = 3, .max_length = length});
  const std::vector<float> whole = runner.run_whole(tokens);
  for (const std::int64_t chunk : {1, 5, 17}) {
    std::vector<std::vector<TestRunner::Chunk>> steps;
    for (std::int64_t at = 0; at < length; at += chunk) steps.push_back({{0, std::min(chunk, length - at)}});
    EXPECT_EQ(runner.run({tokens}, steps)[0], whole) << chunk;
  }
}

TEST_P(GptqModel, HasThePerplexityOfItsTwin) {
  const GoldenLogits golden = read_golden(GetParam());
  const double expected = perplexity(golden.tokens, golden.logits);
  EXPECT_NEAR(perplexity(golden.tokens, logits(backend::MatmulPrecision::kF32)) / expected, 1.0, 1e-5) << expected;
}

// Bit for bit what the tool that wrote it unpacks, where it told.
TEST_P(GptqModel, WeightsAreThoseThatTheToolUnpacks) {
  const std::string text = read_file(Env::system(), GetParam() / "expected.json", 1 << 20).or_throw();
  const auto expected = nlohmann::json::parse(text).value("weights", nlohmann::json::object());
  const auto whole = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const CheckpointWeights weights(*whole);
  std::size_t found = 0;
  for (const MatrixInfo& matrix : quantized(weights)) {
    if (!expected.contains(matrix.name)) continue;
    const auto weight = weights.open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols});
    EXPECT_EQ(weight->format, matrix.format) << matrix.name;
    EXPECT_EQ(sha256(values_of(*weight, matrix.rows, matrix.cols)), expected[matrix.name].get<std::string>())
        << matrix.name;
    ++found;
  }
  EXPECT_EQ(found, expected.size());
}

// Bytes that ranges() does not name must not change a row.
TEST_P(GptqModel, RowsNeedOnlyTheirRanges) {
  const auto whole = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const CheckpointWeights weights(*whole);
  for (const MatrixInfo& matrix : quantized(weights)) {
    const auto weight = weights.open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols});
    const std::size_t row_bytes = matrix.format->row_bytes(matrix.cols);
    std::vector<std::byte> all(row_bytes * static_cast<std::size_t>(matrix.rows)), rows(3 * row_bytes);
    weight->read(0, matrix.rows, all);
    weight->read(5, 3, rows);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin() + static_cast<std::ptrdiff_t>(5 * row_bytes)));
    std::uint64_t bytes = 0, stored = 0;
    for (const TensorRange& range : weight->ranges(0, matrix.rows)) bytes += range.bytes * range.runs;
    for (const auto* tensor : weight->tensors) stored += tensor->bytes;
    EXPECT_EQ(bytes, stored) << matrix.name;
    EXPECT_EQ(weight->tensors, matrix.tensors) << matrix.name;
    for (const TensorRange& range : weight->ranges(5, 3)) {
      EXPECT_LE(range.offset + range.bytes + (range.runs - 1) * range.stride, range.tensor->bytes) << matrix.name;
      const bool whole_tensor = range.tensor->name.ends_with("g_idx") || range.tensor->name.ends_with("qzeros");
      EXPECT_EQ(whole_tensor, range.bytes == range.tensor->bytes) << range.tensor->name;
    }
  }
}

TEST_P(GptqModel, IsPlannedAsItIsPacked) {
  const GoldenLogits golden = read_golden(GetParam());
  TestRunner runner(GetParam(), {.max_length = 48});
  const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), runner.transformer().spec(),
                                      runner.backend(), {.length = 48});
  EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
}

// A model of GPTQModel's with another config.json answers as before.
void expect_same_answers(const std::function<void(nlohmann::json&)>& change) {
  const fs::path from = fs::path(MILLRACE_TEST_DATA) / "../golden/gptqmodel/dynamic";
  const fs::path to = fs::path(testing::TempDir()) / "gptq_with_another_config";
  fs::remove_all(to);
  fs::copy(from, to);
  auto config = nlohmann::json::parse(read_file(Env::system(), to / "config.json", 1 << 20).or_throw());
  change(config);
  std::ofstream(to / "config.json") << config;
  const GoldenLogits golden = read_golden(to);
  TestRunner runner(
      to, {.precision = backend::MatmulPrecision::kF32, .max_length = static_cast<std::int64_t>(golden.tokens.size())});
  EXPECT_LE(largest_difference(runner.run_whole(golden.tokens), golden.logits), 1e-4);
}

TEST(GptqFolder, TakesWhatQuantizeConfigSaysWhereConfigSaysNothing) {
  expect_same_answers([](nlohmann::json& config) { config.erase("quantization_config"); });
}

TEST(GptqFolder, UsesBiasesThatTheConfigurationDoesNotName) {
  expect_same_answers([](nlohmann::json& config) { config.erase("attention_bias"); });
}

INSTANTIATE_TEST_SUITE_P(Golden, GptqModel, testing::ValuesIn(gptq_models()), [](const auto& tested) {
  const std::string maker = tested.param.parent_path().filename();
  return (maker == "gptq" ? "" : maker + "_") + tested.param.filename().string();
});

}  // namespace
}  // namespace millrace::model

// Checkpoints that the formats' own packages wrote (tests/golden/make_quantized.py): their weights against what the
// package unpacks, and their logits against Transformers' with those weights.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/sha256.h"
#include "model/memory_plan.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"
#include "model/weights/checkpoint_weights.h"
#include "quant/group_format.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

// Layouts that are refused by name, and what the message says.
const std::map<std::string, std::string> kRefused = {
    {"ct_mxfp6", "mxfp6-pack-quantized"},
};

std::vector<fs::path> folders(bool refused) {
  std::vector<fs::path> models;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/quantized")) {
    if (kRefused.contains(folder.path().filename()) == refused) models.push_back(folder.path());
  }
  std::sort(models.begin(), models.end());
  return models;
}

nlohmann::json expected_of(const fs::path& folder) {
  return nlohmann::json::parse(read_file(Env::system(), folder / "expected.json", 1 << 20).or_throw());
}

// In the order of the matrix's columns.
std::vector<float> unpacked(const StoredWeight& weight, std::int64_t rows, std::int64_t cols) {
  std::vector<std::byte> raw(weight.format->row_bytes(cols) * static_cast<std::size_t>(rows));
  std::vector<float> stored(static_cast<std::size_t>(rows * cols));
  weight.read(0, rows, raw);
  weight.format->unpack(raw.data(), stored);
  if (weight.columns.empty()) return stored;
  std::vector<float> values(stored.size());
  const auto width = static_cast<std::size_t>(cols);
  for (std::size_t i = 0; i < stored.size(); ++i) {
    values[i / width * width + static_cast<std::size_t>(weight.columns[i % width])] = stored[i];
  }
  return values;
}

// Zeros count as +0.
std::string hash_of(std::vector<float> values) {
  for (float& value : values) value += 0.0f;
  Sha256 hash;
  hash.update(std::as_bytes(std::span(values)));
  return hex(hash.finish());
}

// bitsandbytes multiplies codes of 8 bits by the scale and then by 1 / 127, and rounds twice: what our scale, which has
// the 1 / 127 in it, need not meet in the last bit. Its values, if the matrix is one of those.
std::optional<std::vector<float>> bytes_of_bnb(const checkpoint::Checkpoint& checkpoint, const StoredWeight& weight) {
  if (!weight.tensors[1]->name.ends_with(".SCB")) return std::nullopt;
  std::vector<std::int8_t> codes(weight.tensors[0]->bytes);
  std::vector<float> scales(weight.tensors[1]->bytes / sizeof(float)), values(codes.size());
  checkpoint.read(*weight.tensors[0], 0, std::as_writable_bytes(std::span(codes))).or_throw();
  checkpoint.read(*weight.tensors[1], 0, std::as_writable_bytes(std::span(scales))).or_throw();
  const std::size_t cols = codes.size() / scales.size();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    values[i] = static_cast<float>(codes[i]) * scales[i / cols] * (1.0f / 127.0f);
  }
  return values;
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_LE(std::abs(found[i] - expected[i]), std::abs(expected[i]) * 0x1p-22f) << i;
  }
}

double worst_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(static_cast<double>(a[i]) - b[i]);
    worst = std::isnan(difference) ? INFINITY : std::max(worst, difference);
  }
  return worst;
}

class QuantizedCheckpoint : public testing::TestWithParam<fs::path> {
 protected:
  double error(backend::MatmulPrecision precision) const {
    const GoldenLogits golden = read_golden(GetParam());
    TestRunner runner(GetParam(),
                      {.precision = precision, .max_length = static_cast<std::int64_t>(golden.tokens.size())});
    return worst_difference(runner.run_whole(golden.tokens), golden.logits);
  }
};

// W8A8 with a scale for each row and token runs as that; with groups, or zero points, it cannot.
TEST(QuantizedCheckpoints, W8a8BecomesRowsOfOneScale) {
  const auto formats_of = [](const char* name) {
    const fs::path folder = fs::path(MILLRACE_TEST_DATA) / "../golden/quantized" / name;
    const auto whole = checkpoint::open_checkpoint(Env::system(), folder).or_throw();
    const CheckpointWeights weights(*whole);
    std::set<std::string_view> formats;
    for (const MatrixInfo& matrix : weights.matrices()) formats.insert(matrix.format->name);
    return formats;
  };
  EXPECT_TRUE(formats_of("ct_int8_channel").contains("int8_row"));
  for (const char* other : {"ct_int8_g32", "ct_int8_asym_static", "ct_pack8_g64", "bnb_int8"}) {
    EXPECT_FALSE(formats_of(other).contains("int8_row")) << other;
  }
}

TEST_P(QuantizedCheckpoint, HasTheWeightsThatItsPackageUnpacks) {
  const nlohmann::json expected = expected_of(GetParam());
  const auto exact = expected.value("exact", nlohmann::json::object());
  const auto whole = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const CheckpointWeights weights(*whole);
  std::set<std::string> left;
  for (const auto& [name, hash] : expected.at("weights").items()) left.insert(name);
  for (const MatrixInfo& matrix : weights.matrices()) {
    if (left.erase(matrix.name) == 0) continue;
    const auto weight = weights.open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols});
    EXPECT_EQ(weight->format, matrix.format) << matrix.name;
    EXPECT_EQ(weight->tensors, matrix.tensors) << matrix.name;
    // The factor of a whole matrix is multiplied at the end of products, not with each scale: the logits tell.
    if (!weight->factors.empty()) continue;
    const auto& hash = exact.contains(matrix.name) ? exact[matrix.name] : expected["weights"][matrix.name];
    const std::vector<float> values = unpacked(*weight, matrix.rows, matrix.cols);
    const auto bytes = bytes_of_bnb(*whole, *weight);
    if (bytes) expect_near(values, *bytes);
    EXPECT_EQ(hash_of(bytes.value_or(values)), hash.get<std::string>()) << matrix.name << " " << matrix.format->name;
  }
  EXPECT_TRUE(left.empty()) << "not found: " << *left.begin();
}

TEST_P(QuantizedCheckpoint, AnswersAsTransformersWithThoseWeights) {
  EXPECT_LE(error(backend::MatmulPrecision::kF32), 1e-4);
}

TEST_P(QuantizedCheckpoint, StaysNearThatWithTheActivationsOfItsKernels) {
  EXPECT_LE(error(backend::MatmulPrecision::kAuto), 0.5);
}

TEST_P(QuantizedCheckpoint, LogitsHaveTheSameBitsInStepsOfAnySize) {
  const std::vector<std::int32_t> tokens = read_golden(GetParam()).tokens;
  const auto length = static_cast<std::int64_t>(tokens.size());
  TestRunner runner(GetParam(), {.threads = 3, .max_length = length});
  const std::vector<float> whole = runner.run_whole(tokens);
  for (const std::int64_t chunk : {1, 17}) {
    std::vector<std::vector<TestRunner::Chunk>> steps;
    for (std::int64_t at = 0; at < length; at += chunk) steps.push_back({{0, std::min(chunk, length - at)}});
    EXPECT_EQ(runner.run({tokens}, steps)[0], whole) << chunk;
  }
}

// Bytes that ranges() does not name must not be needed for a row.
TEST_P(QuantizedCheckpoint, RowsNeedOnlyTheirRanges) {
  const auto whole = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const CheckpointWeights weights(*whole);
  for (const MatrixInfo& matrix : weights.matrices()) {
    if (matrix.tensors.size() == 1 || matrix.rows < 8) continue;
    const auto weight = weights.open(matrix.name, {.rows = matrix.rows, .cols = matrix.cols});
    const std::size_t row_bytes = matrix.format->row_bytes(matrix.cols);
    std::vector<std::byte> all(row_bytes * static_cast<std::size_t>(matrix.rows)), rows(3 * row_bytes);
    weight->read(0, matrix.rows, all);
    weight->read(5, 3, rows);
    EXPECT_TRUE(std::equal(rows.begin(), rows.end(), all.begin() + static_cast<std::ptrdiff_t>(5 * row_bytes)))
        << matrix.name;
    std::uint64_t bytes = 0, stored = 0;
    for (const TensorRange& range : weight->ranges(0, matrix.rows)) bytes += range.bytes * range.runs;
    for (const auto* tensor : weight->tensors) stored += tensor->bytes;
    EXPECT_LE(bytes, stored) << matrix.name;
    for (const TensorRange& range : weight->ranges(5, 3)) {
      EXPECT_LE(range.offset + range.bytes + (range.runs - 1) * range.stride, range.tensor->bytes) << matrix.name;
    }
  }
}

TEST_P(QuantizedCheckpoint, IsPlannedAsItIsPacked) {
  TestRunner runner(GetParam(), {.max_length = 48});
  const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), runner.transformer().spec(),
                                      runner.backend(), {.length = 48});
  EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
}

std::string quantized_name(const testing::TestParamInfo<fs::path>& info) { return info.param.filename().string(); }

INSTANTIATE_TEST_SUITE_P(Golden, QuantizedCheckpoint, testing::ValuesIn(folders(false)), quantized_name);

class RefusedCheckpoint : public testing::TestWithParam<fs::path> {};

TEST_P(RefusedCheckpoint, IsRefusedByName) {
  const auto whole = checkpoint::open_checkpoint(Env::system(), GetParam());
  std::string message = whole ? "" : whole.error().message;
  if (whole) {
    try {
      CheckpointWeights weights(**whole);
      static_cast<void>(weights.matrices());
    } catch (const LoadError& e) {
      message = e.what();
    }
  }
  EXPECT_NE(message.find(kRefused.at(GetParam().filename())), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Golden, RefusedCheckpoint, testing::ValuesIn(folders(true)), quantized_name);

}  // namespace
}  // namespace millrace::model

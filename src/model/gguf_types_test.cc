// Tiny Llamas with a matrix, or a stack of experts, of each of GGUF's rarer block types and with NVFP4's factors
// (tests/golden/make_gguf_types.py), against what their blocks mean; and models of one such type each.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "checkpoint/gguf_writer.h"
#include "model/synth/synth_config.h"
#include "model/synth/synth_plan.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using backend::MatmulPrecision;

// Root mean square of the differences, relative to that of b.
double rms_error(const std::vector<float>& a, const std::vector<float>& b) {
  double error = 0.0, power = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    error += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    power += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(error / power);
}

class GgufTypeModels : public testing::TestWithParam<const char*> {
 protected:
  GgufTypeModels() : folder_(fs::path(MILLRACE_TEST_DATA) / "../golden/gguf_types" / GetParam()) {}
  std::vector<float> logits(const TestRunner::Options& options) const {
    return TestRunner(folder_ / "model.gguf", options).run_whole(golden_.tokens);
  }
  fs::path folder_;
  GoldenLogits golden_ = read_golden(folder_);
};

TEST_P(GgufTypeModels, AnswerAsTheirDequantizedTwins) {
  const std::vector<float> found = logits({.precision = MatmulPrecision::kF32});
  ASSERT_EQ(found.size(), golden_.logits.size());
  double largest = 0.0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(static_cast<double>(found[i]) - golden_.logits[i]);
    largest = std::isnan(error) ? INFINITY : std::max(largest, error);
  }
  std::printf("  %-8s max error %.2e\n", GetParam(), largest);
  EXPECT_LE(largest, 1e-4);
}

TEST_P(GgufTypeModels, StayNearThemWithActivationsInInt8) {
  const double error = rms_error(logits({.precision = MatmulPrecision::kAuto}), golden_.logits);
  const double twice = rms_error(logits({.precision = MatmulPrecision::kInt8x2}), golden_.logits);
  std::printf("  %-8s int8 %.2f %%, int8x2 %.4f %%\n", GetParam(), 100.0 * error, 100.0 * twice);
  EXPECT_LE(error, 0.03);
  EXPECT_LE(twice, 0.0005);
}

TEST_P(GgufTypeModels, GiveTheSameBitsForAnyThreadsAndSteps) {
  const std::vector<float> whole = logits({.threads = 1});
  EXPECT_EQ(logits({.threads = 2}), whole);
  TestRunner runner(folder_ / "model.gguf", {.threads = 2});
  const auto n = static_cast<std::int64_t>(golden_.tokens.size());
  std::vector<std::vector<TestRunner::Chunk>> steps;
  for (std::int64_t at = 0, take = 1; at < n; at += take, take = take % 5 + 1) {
    steps.push_back({{0, std::min(take, n - at)}});
  }
  EXPECT_EQ(runner.run({golden_.tokens}, steps).front(), whole);
}

INSTANTIATE_TEST_SUITE_P(Types, GgufTypeModels, testing::Values("llama", "experts"),
                         [](const auto& tested) { return tested.param; });

// A tiny Llama whose matrices are random blocks of a format that is only read, and the same one in f32.
class ReadOnlyFormats : public testing::TestWithParam<std::string> {
 protected:
  ReadOnlyFormats() {
    fs::create_directories(folder_);
    WorkerTeam team(2);
    const SynthModel model = plan_synth(*find_synth_shape("tiny"), checkpoint::Checkpoint::Container::kGguf,
                                        {.format = quant::find_format("f32"), .seed = 7, .tokenizer = {}})
                                 .or_throw();
    write_synth(model, wide_, team).or_throw();
    const auto from = checkpoint::open_checkpoint(Env::system(), wide_).or_throw();
    std::vector<checkpoint::TensorSpec> wide, packed;
    std::vector<std::vector<std::byte>> values, blocks;
    for (const checkpoint::RawTensor& tensor : from->tensors) {
      wide.push_back({tensor.name, tensor.format, tensor.shape});
      packed.push_back(wide.back());
      values.emplace_back(tensor.bytes);
      from->read(tensor, 0, values.back()).or_throw();
      blocks.push_back(values.back());
      if (tensor.shape.rank() != 2 || tensor.shape.back() % format_.block_values != 0) continue;
      packed.back().format = &format_;
      blocks.back() = draw(tensor.shape.elements());
      std::vector<float> meant(static_cast<std::size_t>(tensor.shape.elements()));
      format_.unpack(blocks.back().data(), meant);
      std::memcpy(values.back().data(), meant.data(), values.back().size());
      ++packed_;
    }
    const auto write = [&](const std::string& path, const auto& specs, const auto& data) {
      const auto source = [&](std::size_t i, const checkpoint::DataSink& sink) { return sink(data[i]); };
      checkpoint::write_gguf(path, synth_gguf_entries(model), specs, source).or_throw();
    };
    write(wide_, wide, values);
    write(path_, packed, blocks);
  }
  ~ReadOnlyFormats() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  // So many values in blocks of random bytes whose root mean square is that of weights.
  std::vector<std::byte> draw(std::int64_t values) {
    constexpr std::size_t kDistinct = 64;
    const auto size = static_cast<std::size_t>(format_.block_bytes), n = static_cast<std::size_t>(format_.block_values);
    std::vector<float> meant(n);
    for (; distinct_.size() < kDistinct * size; random_.discard(1)) {
      std::vector<std::byte> block(size);
      std::ranges::generate(block, [&] { return static_cast<std::byte>(random_()); });
      format_.unpack(block.data(), meant);
      double power = 0.0;
      for (const float v : meant) power += static_cast<double>(v) * v;
      const double root = std::sqrt(power / static_cast<double>(n));
      if (root > 0.03 && root < 0.15) distinct_.insert(distinct_.end(), block.begin(), block.end());
    }
    std::vector<std::byte> out;
    for (std::int64_t i = 0; i < values / format_.block_values; ++i) {
      const auto at = distinct_.begin() + static_cast<std::ptrdiff_t>(random_() % kDistinct * size);
      out.insert(out.end(), at, at + static_cast<std::ptrdiff_t>(size));
    }
    return out;
  }
  static std::vector<float> logits(const std::string& path, MatmulPrecision precision) {
    std::mt19937 random(11);
    std::vector<std::int32_t> tokens(48);
    for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 512);
    return TestRunner(path, {.precision = precision, .max_length = 64}).run_whole(tokens);
  }

  const quant::QuantFormat& format_ = *quant::find_format(GetParam());
  const fs::path folder_ = fs::temp_directory_path() / ("millrace_types_" + std::to_string(::getpid()));
  const std::string wide_ = folder_ / "wide.gguf", path_ = folder_ / "packed.gguf";
  std::mt19937 random_{5};
  std::vector<std::byte> distinct_;
  int packed_ = 0;
};

TEST_P(ReadOnlyFormats, AnswerAsTheirDequantizedTwins) {
  EXPECT_GT(packed_, 10);
  const std::vector<float> expected = logits(wide_, MatmulPrecision::kF32);
  EXPECT_EQ(logits(path_, MatmulPrecision::kF32), expected);
  const double error = rms_error(logits(path_, MatmulPrecision::kAuto), expected);
  std::printf("  %-8s int8 %.2f %%\n", GetParam().c_str(), 100.0 * error);
  EXPECT_LE(error, 0.05);
}

std::vector<std::string> read_only_types() {
  std::vector<std::string> names;
  for (const quant::QuantFormat& format : quant::all_formats()) {
    if (format.pack == nullptr && format.gguf_type >= 0) names.emplace_back(format.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Types, ReadOnlyFormats, testing::ValuesIn(read_only_types()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace millrace::model

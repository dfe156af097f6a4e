// What each weight format costs in exactness: a small random model in that format against the same weights dequantized
// to an f32 checkpoint. Prints one line a format for docs/quality.md.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "checkpoint/gguf_writer.h"
#include "model/memory_plan.h"
#include "model/synth/synth_plan.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using checkpoint::RawTensor;

class TemporaryFolder {
 public:
  TemporaryFolder() : path_(fs::temp_directory_path() / ("millrace_quality_" + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  fs::path path_;
};

SynthModel plan(std::string_view format) {
  return plan_synth(*find_synth_shape("tiny"), checkpoint::Checkpoint::Container::kGguf,
                    {.format = quant::find_format(format), .seed = 7, .tokenizer = {}})
      .or_throw();
}

void write(const SynthModel& model, const std::string& path) {
  WorkerTeam team(2);
  write_synth(model, path, team).or_throw();
}

// The weights of `path` as they dequantize, in a file whose matrices are f32.
void write_dequantized(const std::string& path, const std::string& out) {
  const auto source = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  SynthModel wide = plan("f32");
  for (std::size_t i = 0; i < wide.tensors.size(); ++i) ASSERT_EQ(wide.tensors[i].spec.name, source->tensors[i].name);
  write(wide, out);  // for its header; the data are replaced below
  const auto target = checkpoint::open_checkpoint(Env::system(), out).or_throw();
  std::FILE* file = std::fopen(out.c_str(), "r+b");
  ASSERT_NE(file, nullptr);
  for (const RawTensor& tensor : source->tensors) {
    std::vector<std::byte> raw(tensor.bytes);
    source->read(tensor, 0, raw).or_throw();
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
    tensor.format->unpack(raw.data(), values);
    std::fseek(file, static_cast<long>(target->find(tensor.name)->offset), SEEK_SET);
    EXPECT_EQ(std::fwrite(values.data(), sizeof(float), values.size(), file), values.size());
  }
  std::fclose(file);
}

std::vector<float> logits(const std::string& path, backend::MatmulPrecision precision) {
  std::mt19937 random(11);
  std::vector<std::int32_t> tokens(48);
  for (std::int32_t& token : tokens) token = static_cast<std::int32_t>(random() % 512);
  return TestRunner(path, {.precision = precision, .max_length = 64}).run_whole(tokens);
}

struct Difference {
  double relative_rms = 0.0, maximum = 0.0;
};

// NaN anywhere makes both NaN, which fails every bound below.
Difference compare(const std::vector<float>& found, const std::vector<float>& expected) {
  EXPECT_EQ(found.size(), expected.size());
  Difference out;
  double error = 0.0, norm = 0.0;
  for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i) {
    const double d = static_cast<double>(found[i]) - expected[i];
    error += d * d;
    norm += static_cast<double>(expected[i]) * expected[i];
    out.maximum = std::isnan(d) ? d : std::max(out.maximum, std::abs(d));
  }
  out.relative_rms = std::sqrt(error / norm);
  return out;
}

// kAuto rounds activations as the format's class says: block formats to int8 in groups of 32, bf16 to bf16 where the
// processor has such products. Dense f16 and f32 keep them.
double bound_of(const quant::QuantFormat& format) {
  if (format.block_values > 1) return 0.02;
  return format.name == "bf16" ? 0.01 : 1e-5;
}

class FormatQuality : public testing::TestWithParam<std::string> {
 protected:
  // f32: largest error of a logit with weights unpacked; auto: as auto computes; rounding: what the format did to the
  // weights.
  static void SetUpTestSuite() { std::printf("  | format  |  bits | f32 error |   auto RMS | rounding RMS |\n"); }
};

TEST_P(FormatQuality, ComputesWhatTheDequantizedWeightsDo) {
  const quant::QuantFormat& format = *quant::find_format(GetParam());
  const TemporaryFolder folder;
  const std::string packed = folder.file("packed.gguf"), wide = folder.file("wide.gguf"),
                    original = folder.file("original.gguf");
  write(plan(format.name), packed);
  write_dequantized(packed, wide);
  write(plan("f32"), original);
  const std::vector<float> reference = logits(wide, backend::MatmulPrecision::kF32);
  const std::vector<float> unrounded = logits(original, backend::MatmulPrecision::kF32);
  const Difference exact = compare(logits(packed, backend::MatmulPrecision::kF32), reference);
  const Difference fast = compare(logits(packed, backend::MatmulPrecision::kAuto), reference);
  const Difference weights = compare(reference, unrounded);
  std::printf("  | %-7s | %5.2f | %9.1e | %8.3f %% | %10.3f %% |\n", GetParam().c_str(), format.bits_per_value(),
              exact.maximum, 100.0 * fast.relative_rms, 100.0 * weights.relative_rms);
  EXPECT_LE(exact.maximum, 1e-4) << "unpacked weights must give the reference's logits";
  EXPECT_LE(fast.relative_rms, bound_of(format));
}

std::vector<std::string> packable_formats() {
  std::vector<std::string> names;
  for (const quant::QuantFormat& format : quant::all_formats()) {
    if (format.pack != nullptr && format.gguf_type >= 0) names.emplace_back(format.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Formats, FormatQuality, testing::ValuesIn(packable_formats()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace millrace::model

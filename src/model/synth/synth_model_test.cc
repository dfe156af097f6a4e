#include "model/synth/synth_plan.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "model/memory_plan.h"
#include "model/synth/normal_noise.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using checkpoint::Checkpoint;

class Synth : public testing::Test {
 protected:
  Synth() : folder_(fs::temp_directory_path() / ("millrace_synth_" + std::to_string(::getpid()))) {
    fs::create_directories(folder_);
  }
  ~Synth() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  std::string write(const std::string& name, std::string_view shape, std::string_view format, int threads = 2,
                    std::uint64_t seed = 1) {
    return write(name, *find_synth_shape(shape), format, threads, seed);
  }
  std::string write(const std::string& name, const SynthShape& shape, std::string_view format, int threads = 2,
                    std::uint64_t seed = 1) {
    const auto container = name.ends_with(".gguf") ? Checkpoint::Container::kGguf : Checkpoint::Container::kSafetensors;
    const SynthModel model =
        plan_synth(shape, container, {.format = quant::find_format(format), .seed = seed, .tokenizer = {}}).or_throw();
    WorkerTeam team(threads);
    const std::string path = (folder_ / name).string();
    write_synth(model, path, team).or_throw();
    return path;
  }
  static std::string bytes(const std::string& path) { return read_file(Env::system(), path, 1 << 26).or_throw(); }
  static std::vector<float> logits(const std::string& path) {
    return TestRunner(path, {.max_length = 64}).run_whole({1, 5, 9, 300, 2, 77, 500, 31});
  }

  fs::path folder_;
};

TEST_F(Synth, DoesNotDependOnTheNumberOfThreads) {
  EXPECT_EQ(bytes(write("one.gguf", "tiny", "q4_k", 1)), bytes(write("three.gguf", "tiny", "q4_k", 3)));
}

TEST_F(Synth, DependsOnTheSeed) {
  EXPECT_NE(bytes(write("a.gguf", "tiny", "q8_0", 2, 1)), bytes(write("b.gguf", "tiny", "q8_0", 2, 2)));
}

// The parts of a shape that matter for its files, in a model that takes no time.
SynthShape small(SynthShape shape) {
  if (shape.name.starts_with("tiny")) return shape;
  shape.kv_heads = shape.kv_heads == 1 ? 1 : shape.kv_heads == shape.heads ? 4 : 2;
  shape.hidden = 128;
  shape.layers = 6;
  shape.heads = 4;
  if (!shape.family.starts_with("gemma")) shape.head_dim = 32;  // of which Gemma's class takes 256 for granted
  shape.ffn = 256;
  if (shape.family == "gpt_oss") {  // whose fields say the width, too
    const SynthShape& tiny = *find_synth_shape("tiny-gpt-oss");
    shape.ffn = tiny.ffn;
    shape.json = tiny.json;
    shape.gguf = tiny.gguf;
  }
  shape.vocab = 512;
  shape.context = 128;
  return shape;
}

TEST_F(Synth, IsTheSameModelInBothContainers) {
  const std::set<std::string_view> of_one_container = {"tiny-values", "xglm-564m"};
  // GGUF's BitNet has another activation, and its Muse Glimmer a factor in the weights of norms.
  const std::set<std::string_view> two_models = {"bitnet-2b", "tiny-gate"};
  for (const SynthShape& shape : synth_shapes()) {
    if (of_one_container.contains(shape.name)) continue;
    const std::string name(shape.name);
    const std::vector<float> gguf = logits(write(name + ".gguf", small(shape), "f32"));
    const std::vector<float> safetensors = logits(write(name, small(shape), "f32"));
    if (two_models.contains(shape.name)) continue;
    EXPECT_EQ(gguf, safetensors) << shape.name;
  }
  logits(write("xglm", small(*find_synth_shape("xglm-564m")), "f32"));
  const auto refused = plan_synth(*find_synth_shape("xglm-564m"), Checkpoint::Container::kGguf,
                                  {.format = quant::find_format("f32"), .tokenizer = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "shape xglm-564m: xglm models have no name in GGUF; OUT must be a directory, for safetensors");
}

TEST_F(Synth, HasLogitsOfModerateSize) {
  const std::vector<float> values = logits(write("m.gguf", "tiny", "f32"));
  double squares = 0.0;
  for (const float v : values) squares += static_cast<double>(v) * v;
  const double deviation = std::sqrt(squares / static_cast<double>(values.size()));
  EXPECT_GT(deviation, 1.0);
  EXPECT_LT(deviation, 3.0);
}

TEST_F(Synth, KeepsRowsThatAreNoWholeBlocksInAFormatThatFits) {
  SynthShape shape = *find_synth_shape("tiny");
  const auto format_for = [&](std::int64_t hidden) {
    shape.hidden = hidden;
    const SynthModel model =
        plan_synth(shape, Checkpoint::Container::kGguf, {.format = quant::find_format("q4_k"), .tokenizer = {}})
            .or_throw();
    return std::string(model.tensors.front().spec.format->name);
  };
  EXPECT_EQ(format_for(512), "q4_k");
  EXPECT_EQ(format_for(576), "q8_0");
  EXPECT_EQ(format_for(36), "f16");
}

TEST_F(Synth, HasValuesOfAnotherSizeThanKeysWhereTheFileCanSaySo) {
  const std::string path = write("values.gguf", "tiny-values", "q8_0");
  TestRunner runner(path, {.kv = "bf16", .max_length = 64});
  const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), runner.transformer().spec(),
                                      runner.backend(), {.kv = {.encoding = "bf16"}, .length = 33});
  EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
  EXPECT_EQ(plan.kv, 64u * 2 * 2 * (96 + 64) * 2);  // two pages; layers, heads, K and V, bytes
  const auto refused = plan_synth(*find_synth_shape("tiny-values"), Checkpoint::Container::kSafetensors,
                                  {.format = quant::find_format("f32"), .tokenizer = {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "shape tiny-values has values of 64 dimensions and keys of 96: GGUF can say so, config.json of a llama "
            "model cannot");
}

TEST_F(Synth, RefusesBlockFormatsInSafetensors) {
  const auto plan = plan_synth(*find_synth_shape("tiny"), Checkpoint::Container::kSafetensors,
                               {.format = quant::find_format("q4_0"), .tokenizer = {}});
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Synth, MemoryPlanSaysWhatLoadingTakes) {
  for (const char* format : {"q4_0", "q4_k", "q6_k", "bf16", "f16"}) {
    TestRunner runner(write("p.gguf", "tiny", format), {.kv = "bf16", .max_length = 64});
    const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), runner.transformer().spec(),
                                        runner.backend(), {.kv = {.encoding = "bf16"}, .length = 33});
    EXPECT_EQ(plan.weights, runner.transformer().weight_bytes()) << format;
    EXPECT_EQ(plan.kv, 64u * 2 * 2 * 2 * 64 * 2);  // two pages; K and V, layers, heads, head_dim, bytes
  }
}

TEST(NormalStream, IsStandardNormalAndIndexable) {
  std::vector<float> values(1 << 18), part(64);
  const NormalStream stream(3, "x");
  stream.fill(0, 1.0f, values);
  double sum = 0.0, squares = 0.0, beyond_two = 0.0;
  for (const float v : values) {
    sum += v;
    squares += static_cast<double>(v) * v;
    beyond_two += std::abs(v) > 2.0f ? 1.0 : 0.0;
  }
  const auto n = static_cast<double>(values.size());
  EXPECT_NEAR(sum / n, 0.0, 0.01);
  EXPECT_NEAR(squares / n, 1.0, 0.01);
  EXPECT_NEAR(beyond_two / n, 0.0455, 0.002);
  stream.fill(1000, 1.0f, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 1000));
}

}  // namespace
}  // namespace millrace::model

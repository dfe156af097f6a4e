// Formats that loading gives weights: which, with what loss, planned as they are packed, and refused by name.

#include "model/load_quantization.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <map>
#include <random>

#include "model/memory_plan.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"
#include "quant/group_format.h"
#include "quant/searched_rounding.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

fs::path golden_folder(const std::string& name) { return fs::path(MILLRACE_TEST_DATA) / "../golden" / name; }

std::string refusal(const std::string& quantization, const std::string& golden) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), golden_folder(golden)).or_throw();
  const auto chosen = choose_load_quantization(quantization, *checkpoint);
  return chosen ? chosen->name : chosen.error().message;
}

class LoadedAs : public testing::TestWithParam<std::string_view> {
 protected:
  // The relative error of the logits in L2.
  double error() const {
    const fs::path folder = golden_folder("tiny/llama");
    const GoldenLogits golden = read_golden(folder);
    const auto checkpoint = checkpoint::open_checkpoint(Env::system(), folder).or_throw();
    TestRunner runner(folder,
                      {.precision = backend::MatmulPrecision::kF32,
                       .max_length = std::ssize(golden.tokens),
                       .quantization = choose_load_quantization(std::string(GetParam()), *checkpoint).or_throw()});
    const std::vector<float> logits = runner.run_whole(golden.tokens);
    double difference = 0.0, length = 0.0;
    for (std::size_t i = 0; i < logits.size(); ++i) {
      difference += std::pow(static_cast<double>(logits[i]) - golden.logits[i], 2);
      length += std::pow(static_cast<double>(golden.logits[i]), 2);
    }
    return std::sqrt(difference / length);
  }
};

TEST_P(LoadedAs, LosesWhatItsBitsSay) {
  // A tiny model of random weights loses much more than a real one. K-quants become 5 bits here: 32 columns are no
  // block.
  const std::map<std::string_view, double> bounds = {
      {"q8_0", 0.05},    {"w8a8", 0.05},     {"int8", 0.05}, {"q6_k", 0.05}, {"q5_k", 0.3},
      {"q4_k", 0.3},     {"q4_0", 0.6},      {"q4_1", 0.5},  {"nf4", 0.5},   {"mxfp4", 0.7},
      {"int4-g64", 0.6}, {"int4-g128", 0.6}, {"fp8", 0.2}};
  const double most = bounds.at(GetParam());
  EXPECT_LE(error(), most);
  EXPECT_GE(error(), 1e-4) << "nothing was rounded";
}

TEST_P(LoadedAs, IsPlannedAsItIsPackedAndSmaller) {
  const fs::path folder = golden_folder("tiny/llama");
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), folder).or_throw();
  const auto quantization = choose_load_quantization(std::string(GetParam()), *checkpoint).or_throw();
  TestRunner plain(folder, {.max_length = 48}), runner(folder, {.max_length = 48, .quantization = quantization});
  const MemoryPlan plan = plan_memory(CheckpointWeights(runner.checkpoint()), runner.transformer().spec(),
                                      runner.backend(), {.quantization = quantization, .length = 48});
  EXPECT_EQ(plan.weights, runner.transformer().weight_bytes());
  EXPECT_LT(plan.weights, plain.transformer().weight_bytes());
}

// Alone or beside others, in steps of any size, on any number of threads and any instruction set.
TEST_P(LoadedAs, StepsAndThreadsChangeNoBit) {
  const fs::path folder = golden_folder("tiny/llama");
  const std::vector<std::int32_t> tokens = read_golden(folder).tokens;
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), folder).or_throw();
  TestRunner::Options options{
      .kv = "bf16",
      .max_length = std::ssize(tokens),
      .quantization = choose_load_quantization(std::string(GetParam()), *checkpoint).or_throw()};
  const std::vector<float> whole = TestRunner(folder, options).run_whole(tokens);
  std::vector<std::vector<TestRunner::Chunk>> steps;
  for (std::int64_t left = std::ssize(tokens), n = 1; left > 0; left -= n, n = std::min(left, n + 1)) {
    steps.push_back({{0, n}, {1, n}});
  }
  for (const int threads : {1, 3}) {
    options.threads = threads;
    EXPECT_EQ(TestRunner(folder, options).run({tokens, tokens}, steps)[0], whole) << threads << " threads";
  }
  options.isa = "scalar";
  EXPECT_EQ(TestRunner(folder, options).run_whole(tokens), whole);
}

std::string format_name(const testing::TestParamInfo<std::string_view>& info) {
  std::string name(info.param);
  std::ranges::replace(name, '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(All, LoadedAs, testing::ValuesIn(load_quantizations()), format_name);

TEST(LoadQuantization, TakesWhatLlamaCppWouldWhereColumnsAreNoWholeBlocks) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), golden_folder("tiny/llama")).or_throw();
  const auto q4_k = choose_load_quantization("q4_k", *checkpoint).or_throw();
  const auto* f32 = quant::find_format("f32");
  const auto format = [&](std::int64_t cols, bool exact) {
    return q4_k.of_weight({.rows = 8, .cols = cols, .exact = exact}, f32)->name;
  };
  EXPECT_EQ(format(512, false), "q4_k");
  EXPECT_EQ(format(96, false), "q5_0");
  EXPECT_EQ(format(80, false), "f32");
  EXPECT_EQ(format(512, true), "f32");
  EXPECT_EQ(q4_k.of_outer(512, f32)->name, "q8_0");
  EXPECT_EQ(q4_k.of_weight({.rows = 8, .cols = 512}, quant::find_format("q8_0"))->name, "q8_0") << "not a float";
}

TEST(LoadQuantization, AMethodIsWhatTheCheckpointHasToBe) {
  EXPECT_EQ(refusal("gptq", "gptq/v1_sym4"), "");
  EXPECT_EQ(refusal("awq", "quantized/awq_gemm_g32"), "");
  EXPECT_EQ(refusal("", "tiny/llama"), "");
  EXPECT_EQ(refusal("q8_0", "quantized/fp8_blocks"), "q8_0");
  EXPECT_NE(refusal("awq", "gptq/v1_sym4").find("quantization is 'awq': "), std::string::npos);
  EXPECT_NE(refusal("awq", "gptq/v1_sym4").find("is stored as gptq, which loading does not change"), std::string::npos);
  EXPECT_NE(refusal("awq", "tiny/llama").find("is stored as f32"), std::string::npos) << refusal("awq", "tiny/llama");
  EXPECT_NE(refusal("q4_0", "gptq/v1_sym4").find("is stored as gptq"), std::string::npos);
  EXPECT_TRUE(is_quantization("compressed-tensors"));
  EXPECT_FALSE(is_quantization("q7_9"));
}

// The search never loses to the format's own rule.
TEST(LoadQuantization, AnImportanceMatrixIsPartOfTheKey) {
  const auto with = [](std::map<std::string, std::vector<float>> means) {
    LoadQuantization q4_k{"q4_k", quant::find_format("q4_k"), quant::find_format("q8_0")};
    q4_k.importance = std::make_shared<const checkpoint::ImportanceMatrix>("a.dat", std::move(means));
    return q4_k.key(7);
  };
  const LoadQuantization plain{"q4_k", quant::find_format("q4_k"), quant::find_format("q8_0")};
  EXPECT_EQ(LoadQuantization{}.key(7), 7u);
  EXPECT_NE(plain.key(7), plain.key(8));
  EXPECT_NE(with({{"a", {1.0f, 2.0f}}}), plain.key(7));
  EXPECT_NE(with({{"a", {1.0f, 2.0f}}}), with({{"a", {1.0f, 3.0f}}}));
  EXPECT_NE(with({{"a", {1.0f, 2.0f}}}), with({{"b", {1.0f, 2.0f}}}));
  EXPECT_EQ(with({{"a", {1.0f, 2.0f}}}), with({{"a", {1.0f, 2.0f}}}));
}

TEST(LoadQuantization, SearchedScalesComeNearer) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const char* name : {"q4_0", "int4_g64m", "int4_g32", "nf4_g64", "mxfp4", "int3_g64m", "int4_g128z"}) {
    const quant::QuantFormat& format = *quant::find_any_format(name);
    std::vector<float> x(static_cast<std::size_t>(format.block_values) * 64), plain(x.size()), searched(x.size());
    for (float& v : x) v = normal(random);
    std::vector<std::byte> blocks(format.row_bytes(std::ssize(x)));
    const auto error = [&](const std::vector<float>& y) {
      double sum = 0.0;
      for (std::size_t i = 0; i < x.size(); ++i) sum += std::pow(static_cast<double>(x[i]) - y[i], 2);
      return sum;
    };
    format.pack(x, blocks.data());
    format.unpack(blocks.data(), plain);
    quant::pack_searched(format, x, {}, blocks.data());
    format.unpack(blocks.data(), searched);
    EXPECT_LT(error(searched), 0.97 * error(plain)) << name;
  }
}

}  // namespace
}  // namespace millrace::model

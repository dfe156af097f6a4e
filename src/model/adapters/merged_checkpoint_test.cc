// Checkpoints with adapters merged into them: the logits of the model with the adapter beside it, whatever its rows and
// columns are called and however they are ordered.

#include "model/adapters/merged_checkpoint.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "base/memory_env.h"
#include "checkpoint/content_key.h"
#include "model/adapters/base_shapes.h"
#include "model/adapters/peft_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

std::unique_ptr<backend::Backend> merging_backend() {
  return backend::cpu::make_cpu_backend({.threads = 1}).or_throw();
}

std::vector<fs::path> adapters_to_merge() {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(kGoldens / "adapters")) {
    if (folder.path().filename() != "llama_alora") folders.push_back(folder.path());  // refused, below
  }
  std::ranges::sort(folders);
  return folders;
}

const TestRunner::Options kExact{.precision = backend::MatmulPrecision::kF32};

// Its matrices in f32, also where the base's are bf16.
std::unique_ptr<checkpoint::Checkpoint> merged_checkpoint(const fs::path& base, std::span<const ScaledAdapter> adapters,
                                                          Merged* merged = nullptr) {
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), base).or_throw();
  const TensorFormats f32 = [](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() <= 3 ? quant::find_format("f32") : nullptr;
  };
  const Merged made = merge_adapters(Env::system(), *checkpoint, merging_backend(), adapters, {.formats = f32});
  if (merged != nullptr) *merged = made;
  return checkpoint;
}

class MergedAdapter : public testing::TestWithParam<fs::path> {};

TEST_P(MergedAdapter, GivesPeftsLogits) {
  const GoldenLogits golden = read_golden(GetParam());
  for (const fs::path& base : {base_of(GetParam()), base_of(GetParam()) / "model.gguf"}) {
    if (!fs::exists(base)) continue;
    const ScaledAdapter adapter{GetParam()};
    Merged merged;
    TestRunner runner(merged_checkpoint(base, {&adapter, 1}, &merged), kExact);
    EXPECT_LE(largest_error(runner.run_whole(golden.tokens), golden.logits), 1e-4) << base;
    EXPECT_GE(merged.tensors, 1);
    EXPECT_LE(merged.error->relative(), 1e-7);
  }
}

TEST(MergedActivatedAdapter, IsRefused) {
  const ScaledAdapter adapter{kGoldens / "adapters/llama_alora"};
  try {
    merged_checkpoint(kGoldens / "tiny/llama", {&adapter, 1});
    FAIL();
  } catch (const LoadError& failure) {
    EXPECT_EQ(failure.error().param, "alora_invocation_tokens");
  }
}

// Half and half, and one that takes the other away again.
TEST_P(MergedAdapter, IsScaledAndAdded) {
  const std::string name = GetParam().filename();
  // Factors and biases in place of others are not halved twice.
  if (name.find("dora") != std::string::npos || name.find("bias") != std::string::npos ||
      name == "llama_saved_linear") {
    return;
  }
  const GoldenLogits golden = read_golden(GetParam());
  const fs::path base = base_of(GetParam());
  const ScaledAdapter halves[] = {{GetParam(), 0.25}, {GetParam(), 0.75}};
  TestRunner whole(merged_checkpoint(base, halves), kExact);
  EXPECT_LE(largest_error(whole.run_whole(golden.tokens), golden.logits), 1e-4);
  const ScaledAdapter none[] = {{GetParam(), 1.0}, {GetParam(), -1.0}};
  TestRunner merged(merged_checkpoint(base, none), kExact), plain(base, kExact);
  EXPECT_LE(largest_error(merged.run_whole(golden.tokens), plain.run_whole(golden.tokens)), 1e-5);
}

// What reads the base's header alone says of an adapter what loading the model says.
TEST_P(MergedAdapter, IsReadWithoutTheBasesWeightsAsWithThem) {
  TestRunner runner(base_of(GetParam()), {});
  BaseShapes shapes(runner.checkpoint(), merging_backend());
  for (const AdapterType type : {AdapterType::kAuto, AdapterType::kBf16, AdapterType::kInt8}) {
    const AdapterOptions options{.type = type};
    const auto expected = AdapterLoader(runner.checkpoint(), runner.transformer(), runner.backend())
                              .load(Env::system(), GetParam(), options);
    const auto found = shapes.load(Env::system(), GetParam(), options);
    EXPECT_EQ(found->key(), expected->key());
    EXPECT_EQ(found->summary().rank, expected->summary().rank);
    EXPECT_EQ(found->summary().modules, expected->summary().modules);
    EXPECT_EQ(found->summary().error, expected->summary().error);
    EXPECT_NEAR(static_cast<double>(found->bytes()), static_cast<double>(expected->bytes()),
                0.1 * static_cast<double>(expected->bytes()));
  }
}

std::string merged_name(const testing::TestParamInfo<fs::path>& tested) { return tested.param.filename().string(); }
INSTANTIATE_TEST_SUITE_P(Adapters, MergedAdapter, testing::ValuesIn(adapters_to_merge()), merged_name);

const fs::path kLlama = kGoldens / "tiny/llama";
const fs::path kQueriesAndValues = kGoldens / "adapters/llama_q_v";

std::vector<std::byte> bytes_of(const checkpoint::Checkpoint& checkpoint, const std::string& name) {
  const checkpoint::RawTensor& tensor = *checkpoint.find(name);
  std::vector<std::byte> bytes(tensor.bytes);
  checkpoint.read(tensor, 0, bytes).or_throw();
  return bytes;
}

TEST(MergedCheckpoint, LeavesOtherTensorsAlone) {
  const ScaledAdapter adapter{kQueriesAndValues};
  const auto plain = checkpoint::open_checkpoint(Env::system(), kLlama).or_throw();
  const auto merged = merged_checkpoint(kLlama, {&adapter, 1});
  EXPECT_EQ(merged->tensors.size(), plain->tensors.size());
  for (const checkpoint::RawTensor& tensor : plain->tensors) {
    const bool changed =
        tensor.name.find("q_proj") != std::string::npos || tensor.name.find("v_proj") != std::string::npos;
    EXPECT_EQ(bytes_of(*merged, tensor.name) != bytes_of(*plain, tensor.name), changed) << tensor.name;
  }
}

TEST(MergedCheckpoint, ReadsTheSameInAnyPieces) {
  const ScaledAdapter adapter{kQueriesAndValues};
  const auto merged = merged_checkpoint(kLlama, {&adapter, 1});
  const checkpoint::RawTensor& tensor = *merged->find("model.layers.0.self_attn.q_proj.weight");
  const std::vector<std::byte> whole = bytes_of(*merged, tensor.name);
  for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
    std::vector<std::byte> read(whole.size());
    for (std::size_t at = 0; at < read.size(); at += piece) {
      merged->read(tensor, at, std::span(read).subspan(at, std::min(piece, read.size() - at))).or_throw();
    }
    EXPECT_EQ(read, whole) << piece;
  }
}

// Caches of packed weights and of pages are kept under it.
TEST(MergedCheckpoint, HasAKeyOfItsOwn) {
  std::set<std::uint64_t> keys = {
      checkpoint::content_key(*checkpoint::open_checkpoint(Env::system(), kLlama).or_throw())};
  for (const double scale : {1.0, 0.0, 1.0 + 1e-9}) {
    const ScaledAdapter adapter{kQueriesAndValues, scale};
    keys.insert(checkpoint::content_key(*merged_checkpoint(kLlama, {&adapter, 1})));
  }
  EXPECT_EQ(keys.size(), 4u);
  const ScaledAdapter again{kQueriesAndValues};
  EXPECT_TRUE(keys.contains(checkpoint::content_key(*merged_checkpoint(kLlama, {&again, 1}))));
}

TEST(MergedCheckpoint, RoundsToTheFormatThatIsAskedFor) {
  const ScaledAdapter adapter{kQueriesAndValues};
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), kLlama).or_throw();
  const quant::QuantFormat* bf16 = quant::find_format("bf16");
  const Merged merged = merge_adapters(
      Env::system(), *checkpoint, merging_backend(), {&adapter, 1},
      {.formats = [&](const checkpoint::RawTensor& tensor) { return tensor.shape.rank() == 2 ? bf16 : nullptr; }});
  EXPECT_EQ(checkpoint->find("model.layers.0.self_attn.q_proj.weight")->format, bf16);
  EXPECT_EQ(checkpoint->find("model.layers.0.mlp.up_proj.weight")->format, bf16);
  const GoldenLogits golden = read_golden(kQueriesAndValues);
  TestRunner runner(std::move(checkpoint), kExact);
  const double found = largest_error(runner.run_whole(golden.tokens), golden.logits);
  EXPECT_GT(found, 1e-4);
  EXPECT_LT(found, 3e-2);
  EXPECT_GT(merged.error->relative(), 1e-4);
  EXPECT_LT(merged.error->relative(), 4e-3);
}

// An adapter of the head of a model whose head is its embedding changes the head alone.
TEST(MergedCheckpoint, GivesATiedHeadWeightsOfItsOwn) {
  const fs::path base = kGoldens / "tiny/llama_tied_biased";
  TestRunner beside(base, kExact);
  const ModelSpec& spec = beside.transformer().spec();
  PeftModule head{.name = "lm_head", .rows = spec.vocab_size, .cols = spec.hidden_size, .rank = 2, .a = {}, .b = {}};
  for (std::int64_t i = 0; i < head.rank * head.cols; ++i) head.a.push_back(0.01f * static_cast<float>(i % 7 - 3));
  for (std::int64_t i = 0; i < head.rows * head.rank; ++i) head.b.push_back(0.1f * static_cast<float>(i % 5 - 2));
  const PeftFiles files = peft_files({.rank = 2}, {&head, 1});
  MemoryEnv env;
  env.files = {{"a/adapter_config.json", files.config}, {"a/adapter_model.safetensors", files.weights}};
  const auto loaded = AdapterLoader(beside.checkpoint(), beside.transformer(), beside.backend())
                          .load(env, "a", {.type = AdapterType::kF32});
  beside.set_adapter(loaded.get());
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), base).or_throw();
  const ScaledAdapter adapter{"a"};
  static_cast<void>(merge_adapters(env, *checkpoint, merging_backend(), {&adapter, 1}));
  TestRunner merged(std::move(checkpoint), kExact), plain(base, kExact);
  EXPECT_TRUE(spec.tied_head);
  EXPECT_FALSE(merged.transformer().spec().tied_head);
  const std::vector<std::int32_t> tokens = {3, 9, 27, 30, 5};
  const std::vector<float> expected = beside.run_whole(tokens);
  EXPECT_LE(largest_error(merged.run_whole(tokens), expected), 1e-4);
  EXPECT_GE(largest_error(plain.run_whole(tokens), expected), 1e-3) << "the adapter changes something";
}

TEST(MergedCheckpoint, IsAsItWasWhereMergingFails) {
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), kLlama).or_throw();
  const std::uint64_t before = checkpoint::content_key(*checkpoint);
  const ScaledAdapter adapters[] = {{kQueriesAndValues}, {kGoldens / "adapters/gpt2"}};
  EXPECT_THROW(static_cast<void>(merge_adapters(Env::system(), *checkpoint, merging_backend(), adapters)), LoadError);
  EXPECT_EQ(checkpoint::content_key(*checkpoint), before);
}

}  // namespace
}  // namespace millrace::model

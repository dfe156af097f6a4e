// Law 3: the bits of a token's logits do not depend on chunks, neighbours, threads, or instruction set (where the
// arithmetic is f32 or int8).

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/cpu.h"
#include "model/testing/golden_logits.h"
#include "model/testing/random_tokens.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

const std::string kTinyModels = std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/";
const std::string kFamilyGoldens = std::string(MILLRACE_TEST_DATA) + "/../golden/families/";

void expect_bits(const std::vector<float>& a, const std::vector<float>& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0) << what;
}

class Invariance : public testing::TestWithParam<const char*> {};

TEST_P(Invariance, ChunksNeighboursAndThreadsChangeNoBit) {
  const std::string path = kTinyModels + GetParam();
  // Longer than a split of attention (512), so that splits and their merges are in play.
  const std::vector<std::int32_t> tokens = random_tokens(1100, 1), other = random_tokens(300, 2);
  TestRunner::Options options{.kv = "bf16", .max_length = 2048};
  TestRunner runner(path, options);
  const std::vector<float> whole = runner.run_whole(tokens);

  std::vector<std::vector<TestRunner::Chunk>> chunked, mixed;
  std::mt19937 random(3);
  std::int64_t left = 1100, other_left = 300;
  while (left > 0) {
    const std::int64_t n =
        std::min<std::int64_t>(left, random() % 3 == 0 ? 1 : 1 + static_cast<std::int64_t>(random() % 90));
    left -= n;
    chunked.push_back({{0, n}});
    mixed.push_back({{0, n}});
    if (other_left > 0) {
      const std::int64_t m = std::min<std::int64_t>(other_left, 1 + static_cast<std::int64_t>(random() % 40));
      other_left -= m;
      mixed.back().insert(random() % 2 == 0 ? mixed.back().begin() : mixed.back().end(), TestRunner::Chunk{1, m});
    }
  }
  expect_bits(runner.run({tokens}, chunked)[0], whole, "chunked");
  expect_bits(runner.run({tokens, other}, mixed)[0], whole, "with a neighbour");
  for (const int threads : {1, 3}) {
    options.threads = threads;
    TestRunner another(path, options);
    expect_bits(another.run({tokens}, chunked)[0], whole, std::to_string(threads) + " threads");
  }
}

TEST_P(Invariance, EveryInstructionSetComputesTheSameBits) {
  const std::string path = kTinyModels + GetParam();
  const std::vector<std::int32_t> tokens = random_tokens(40, 4);
  const std::vector<float> scalar =
      TestRunner(path, {.isa = "scalar", .kv = "bf16", .max_length = 64}).run_whole(tokens);
  for (int isa = 1; isa <= static_cast<int>(detect_isa()); ++isa) {
    if (!has_isa(static_cast<Isa>(isa))) continue;
    const std::string name(to_string(static_cast<Isa>(isa)));
    expect_bits(TestRunner(path, {.isa = name, .kv = "bf16", .max_length = 64}).run_whole(tokens), scalar, name);
  }
}

// Every family that has golden files, over its golden prompt, which is longer than its windows.
class FamilyInvariance : public testing::TestWithParam<std::string> {};

TEST_P(FamilyInvariance, ChunksNeighboursThreadsAndInstructionSetsChangeNoBit) {
  const std::string path = kFamilyGoldens + GetParam();
  const std::vector<std::int32_t> tokens = read_golden(path).tokens, other = random_tokens(21, 5);
  const auto length = static_cast<std::int64_t>(tokens.size());
  TestRunner::Options options{.kv = "bf16", .max_length = length};
  TestRunner runner(path, options);
  const std::vector<float> whole = runner.run_whole(tokens);
  std::vector<std::vector<TestRunner::Chunk>> chunked, mixed;
  std::int64_t left = length, other_left = 21;
  for (std::int64_t n = 1; left > 0; n = n % 7 + 1) {
    const std::int64_t now = std::min(n, left), beside = std::min<std::int64_t>(other_left, n % 4);
    left -= now;
    other_left -= beside;
    chunked.push_back({{0, now}});
    mixed.push_back({{0, now}});
    if (beside > 0) mixed.back().insert(mixed.back().begin(), TestRunner::Chunk{1, beside});
  }
  if (other_left > 0) mixed.push_back({{1, other_left}});
  expect_bits(runner.run({tokens}, chunked)[0], whole, "chunked");
  expect_bits(runner.run({tokens, other}, mixed)[0], whole, "with a neighbour");
  options.threads = 3;
  expect_bits(TestRunner(path, options).run({tokens}, chunked)[0], whole, "3 threads");
  options.precision = backend::MatmulPrecision::kF32;
  options.isa = "scalar";
  const std::vector<float> scalar = TestRunner(path, options).run_whole(tokens);
  for (int isa = 1; isa <= static_cast<int>(detect_isa()); ++isa) {
    if (!has_isa(static_cast<Isa>(isa))) continue;
    options.isa = std::string(to_string(static_cast<Isa>(isa)));
    expect_bits(TestRunner(path, options).run_whole(tokens), scalar, options.isa);
  }
}

std::vector<std::string> family_names() {
  std::vector<std::string> names;
  for (const auto& folder : std::filesystem::directory_iterator(kFamilyGoldens)) {
    if (std::filesystem::exists(folder.path() / "config.json")) names.push_back(folder.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, FamilyInvariance, testing::ValuesIn(family_names()),
                         [](const auto& tested) { return tested.param; });

INSTANTIATE_TEST_SUITE_P(Models, Invariance,
                         testing::Values("llama", "mistral_window", "qwen3", "llama_head20", "llama_k20_v12/model.gguf",
                                         "llama_k16_v24/model.gguf"));

}  // namespace
}  // namespace millrace::model

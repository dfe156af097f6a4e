// A model shared by ranks gives the bits of one that is not: for every family, any number of ranks, and ranks that are
// not alike.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "backend/cpu/kv_encoding.h"
#include "base/cpu.h"
#include "model/testing/golden_logits.h"
#include "model/testing/random_tokens.h"
#include "model/testing/runner.h"
#include "model/testing/shared_runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::vector<TestRunner::Chunk>>;
using Logits = std::vector<std::vector<float>>;

const std::string kGoldens = std::string(MILLRACE_TEST_DATA) + "/../golden/";

// A prompt, the beginning of another one beside a token of the first, and single tokens.
class SharedModel : public testing::TestWithParam<fs::path> {
 protected:
  void expect_bits_of_one(const std::string& path, const std::vector<std::int32_t>& tokens, TestRunner::Options options,
                          const std::vector<Ranks>& groups) {
    const auto length = static_cast<std::int64_t>(tokens.size());
    options.max_length = std::max<std::int64_t>(length, 9);
    const std::vector<std::vector<std::int32_t>> sequences = {tokens, random_tokens(9, 5)};
    const Steps steps = {{{0, length - 3}}, {{1, 8}, {0, 1}}, {{0, 1}}, {{0, 1}}, {{1, 1}}};
    const Logits expected = TestRunner(path, options).run(sequences, steps);
    for (const Ranks& ranks : groups) {
      Logits found;
      run_shared(path, options, ranks, [&](TestRunner& runner) { found = runner.run(sequences, steps); });
      for (std::size_t s = 0; s < expected.size(); ++s) {
        ASSERT_EQ(found[s].size(), expected[s].size());
        EXPECT_EQ(std::memcmp(found[s].data(), expected[s].data(), expected[s].size() * sizeof(float)), 0)
            << ranks.shares.size() << " ranks, sequence " << s;
      }
    }
  }
};

TEST_P(SharedModel, HasTheBitsOfOneRank) {
  const std::string path = GetParam();
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  if (const auto spec = make_spec(*checkpoint); !spec && spec.error().code == ErrorCode::kUnsupported) return;
  const int most = max_ranks(path);
  std::vector<Ranks> groups;
  for (int ranks = 2; ranks <= most; ++ranks) groups.push_back({.shares = equal_shares(ranks)});
  if (most >= 2) groups.push_back({.shares = {1, 2}, .threads = {3, 1}});
  const fs::path folder = fs::is_directory(GetParam()) ? GetParam() : GetParam().parent_path();
  const bool has_golden = fs::exists(folder / "expected.json");
  expect_bits_of_one(path, has_golden ? read_golden(folder).tokens : random_tokens(24, 1), {.kv = "bf16"}, groups);
}

TEST_F(SharedModel, HasTheBitsOfOneRankInEveryKindOfPages) {
  for (const backend::cpu::KvEncoding& encoding : backend::cpu::all_kv_encodings()) {
    SCOPED_TRACE(encoding.name);
    const std::string path = kGoldens + "tiny/llama";
    expect_bits_of_one(path, random_tokens(600, 1), {.kv = encoding.name},  // longer than a split of attention
                       {{.shares = {1, 1}}, {.shares = {2, 1}}});
  }
}

// Where the arithmetic is f32 or int8, also bits of other instruction sets.
TEST_F(SharedModel, HasTheBitsOfOneRankOnUnlikeRanks) {
  for (int isa = 0; isa < static_cast<int>(detect_isa()); ++isa) {
    if (!has_isa(static_cast<Isa>(isa))) continue;
    const Ranks unlike{.shares = {1, 1}, .isas = {"", std::string(to_string(static_cast<Isa>(isa)))}};
    expect_bits_of_one(kGoldens + "families/qwen3_moe", random_tokens(24, 1),
                       {.precision = backend::MatmulPrecision::kF32}, {unlike});
    expect_bits_of_one(kGoldens + "quantized/awq_gemm_g32", random_tokens(24, 1), {}, {unlike});
  }
}

// What loading counts of a weight is of all its rows, also where a rank has none of them.
TEST_F(SharedModel, CountsWhatRoundingMovesOfAllRows) {
  const std::string path = kGoldens + "quantized/awq_gemm_g32";
  const auto counted = [](TestRunner& runner) {
    std::map<std::string, std::pair<std::int64_t, std::int64_t>> counts;
    runner.transformer().start_rounding_statistics();
    runner.run_whole(random_tokens(24, 1));
    for (const backend::RoundingStatistics& of_weight : runner.transformer().take_rounding_statistics()) {
      counts[of_weight.weight] = {of_weight.outputs, of_weight.moved};
    }
    return counts;
  };
  TestRunner alone(path, {.max_length = 24});
  const auto expected = counted(alone);
  ASSERT_FALSE(expected.empty());
  for (int ranks = 2; ranks <= 4; ++ranks) {
    run_shared(path, {.max_length = 24}, {.shares = equal_shares(ranks)},
               [&](TestRunner& runner) { EXPECT_EQ(counted(runner), expected) << ranks; });
  }
}

// Of every family, and of every format that others write.
std::vector<fs::path> models() {
  std::vector<fs::path> all;
  for (const char* kind : {"families", "tiny", "gptq", "gptqmodel", "quantized", "gguf_types"}) {
    for (const auto& folder : fs::directory_iterator(fs::path(kGoldens) / kind)) {
      if (fs::exists(folder.path() / "config.json"))
        all.push_back(folder.path());
      else if (fs::exists(folder.path() / "model.gguf"))
        all.push_back(folder.path() / "model.gguf");
    }
  }
  std::ranges::sort(all);
  return all;
}

INSTANTIATE_TEST_SUITE_P(Models, SharedModel, testing::ValuesIn(models()), [](const auto& of) {
  std::string name = fs::relative(of.param, kGoldens);
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace millrace::model

// A model shared by ranks gives the bits of one that is not: for every family, any number of ranks, and ranks that are
// not alike.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/cpu.h"
#include "comm/testing/rank_threads.h"
#include "model/testing/golden_logits.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using Steps = std::vector<std::vector<TestRunner::Chunk>>;
using Logits = std::vector<std::vector<float>>;

struct Ranks {
  std::vector<double> shares;
  std::vector<std::string> isas = {};  // of each; empty: the best
  std::vector<int> threads = {};       // of each; empty: 1
};

void follow_rank(const std::string& path, const TestRunner::Options& options) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  const auto backend = backend::make_test_backend(options.threads, options.isa, options.group);
  ModelSpec spec = make_spec(*checkpoint).or_throw();
  const auto shards = std::make_shared<Shards>(Shards::make(spec, options.shares).or_throw());
  Transformer model(*checkpoint, std::move(spec), *backend,
                    {.precision = options.precision, .max_length = options.max_length, .shards = shards});
  RankFollower(*options.group, *backend, model).run();
}

// The logits of rank 0.
Logits run_shared(const std::string& path, TestRunner::Options options, const Ranks& ranks,
                  const std::vector<std::vector<std::int32_t>>& sequences, const Steps& steps) {
  Logits logits;
  options.shares = ranks.shares;
  comm::run_ranks(static_cast<int>(ranks.shares.size()), 1 << 18, [&](std::shared_ptr<comm::Communicator> group) {
    TestRunner::Options own = options;
    const auto rank = static_cast<std::size_t>(group->rank());
    own.group = std::move(group);
    own.threads = ranks.threads.empty() ? 1 : ranks.threads[rank];
    own.isa = ranks.isas.empty() ? "" : ranks.isas[rank];
    if (rank == 0) {
      logits = TestRunner(path, own).run(sequences, steps);
    } else {
      follow_rank(path, own);
    }
  });
  return logits;
}

std::vector<std::int32_t> tokens_of_seed(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::int32_t> tokens(n);
  for (std::int32_t& t : tokens) t = static_cast<std::int32_t>(3 + random() % 44);
  return tokens;
}

std::int64_t fewest_query_heads(const std::string& path) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), path).or_throw();
  const ModelSpec spec = make_spec(*checkpoint).or_throw();
  std::int64_t ranks = 1;
  while (Shards::make(spec, std::vector<double>(static_cast<std::size_t>(ranks) + 1, 1.0)) && ranks < 8) ++ranks;
  return ranks;
}

class SharedModel : public testing::TestWithParam<fs::path> {};

TEST_P(SharedModel, HasTheBitsOfOneRank) {
  const std::vector<std::int32_t> tokens = read_golden(GetParam()).tokens, other = tokens_of_seed(9, 5);
  const auto length = static_cast<std::int64_t>(tokens.size());
  const TestRunner::Options options{.kv = "bf16", .max_length = std::max<std::int64_t>(length, 9)};
  Steps steps = {{{0, length - 3}}, {{1, 8}, {0, 1}}};
  for (int i = 0; i < 2; ++i) steps.push_back({{0, 1}});
  steps.push_back({{1, 1}});
  const Logits expected = TestRunner(GetParam(), options).run({tokens, other}, steps);
  const std::int64_t most = fewest_query_heads(GetParam());
  std::vector<Ranks> groups;
  for (std::int64_t ranks = 2; ranks <= std::min<std::int64_t>(most, 4); ++ranks) {
    groups.push_back({.shares = std::vector<double>(static_cast<std::size_t>(ranks), 1.0)});
  }
  if (most >= 2) groups.push_back({.shares = {1, 2}, .threads = {3, 1}});
  for (const Ranks& ranks : groups) {
    const Logits found = run_shared(GetParam(), options, ranks, {tokens, other}, steps);
    for (std::size_t s = 0; s < expected.size(); ++s) {
      ASSERT_EQ(found[s].size(), expected[s].size());
      EXPECT_EQ(std::memcmp(found[s].data(), expected[s].data(), expected[s].size() * sizeof(float)), 0)
          << ranks.shares.size() << " ranks, sequence " << s;
    }
  }
}

std::vector<fs::path> families() {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/families")) {
    if (fs::exists(folder.path() / "config.json")) folders.push_back(folder.path());
  }
  std::ranges::sort(folders);
  return folders;
}

INSTANTIATE_TEST_SUITE_P(Families, SharedModel, testing::ValuesIn(families()), [](const auto& of) {
  std::string name = of.param.filename();
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace millrace::model

// Adapters of a model that ranks share: the bits of one rank, the same content everywhere, and what becomes of files
// that some rank cannot read.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "model/adapters/load_adapter.h"
#include "model/testing/changed_model.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/random_adapter.h"
#include "model/testing/random_tokens.h"
#include "model/testing/shared_runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using AdapterLogits = std::vector<std::vector<float>>;

constexpr int kMaxRanks = 3;

std::shared_ptr<const Adapter> load_for(TestRunner& runner, const std::string& path, const AdapterOptions& options) {
  return AdapterLoader(runner.checkpoint(), runner.transformer(), runner.backend()).load(Env::system(), path, options);
}

std::string temporary(const std::string& name) {
  return testing::TempDir() + "millrace_shared_" + std::to_string(getpid()) + "_" + name;
}

bool same_bits(const AdapterLogits& a, const AdapterLogits& b) {
  return std::ranges::equal(a, b, [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
  });
}

// A prompt, the beginning of another one beside a token of the first, and single tokens, all through the adapter.
AdapterLogits adapted(TestRunner& runner, const Adapter* adapter, const std::vector<std::int32_t>& tokens) {
  const auto length = static_cast<std::int64_t>(tokens.size());
  runner.set_adapter(adapter, adapter == nullptr ? 0 : first_adapted(*adapter, tokens));
  auto logits =
      runner.run({tokens, random_tokens(9, 5)}, {{{0, length - 3}}, {{1, 8}, {0, 1}}, {{0, 1}}, {{0, 1}}, {{1, 1}}});
  runner.set_adapter(nullptr);
  return logits;
}

std::vector<Ranks> groups_of(const std::string& base) {
  const int most = std::min(max_ranks(base), kMaxRanks);
  std::vector<Ranks> groups;
  for (int ranks = 2; ranks <= most; ++ranks) groups.push_back({.shares = equal_shares(ranks)});
  groups.push_back({.shares = {1}, .stages = 2});
  if (most > 1) groups.push_back({.shares = {1, 1}, .stages = 2});
  return groups;
}

class SharedAdapter : public testing::TestWithParam<fs::path> {
 protected:
  static void expect_bits_of_one(const std::string& base, const std::string& path, const AdapterOptions& as,
                                 TestRunner::Options options, const std::vector<std::int32_t>& tokens,
                                 const std::vector<Ranks>& groups) {
    options.max_length = std::max<std::int64_t>(std::ssize(tokens), 9);
    TestRunner alone(base, options);
    const auto adapter = load_for(alone, path, as);
    const AdapterLogits expected = adapted(alone, adapter.get(), tokens);
    EXPECT_FALSE(same_bits(expected, adapted(alone, nullptr, tokens)));
    for (const Ranks& ranks : groups) {
      run_shared(base, options, ranks, [&](TestRunner& runner) {
        const auto part = load_for(runner, path, as);
        if (ranks.stages == 1) {
          EXPECT_EQ(part->summary().modules, adapter->summary().modules);
          EXPECT_EQ(part->summary().rank, adapter->summary().rank);
          EXPECT_EQ(part->key(), adapter->key());
          EXPECT_NEAR(part->summary().error, adapter->summary().error, 0.5 * adapter->summary().error);
        }
        EXPECT_TRUE(same_bits(adapted(runner, part.get(), tokens), expected))
            << ranks.shares.size() << " ranks in each of " << ranks.stages << " stages";
      });
    }
  }
};

TEST_P(SharedAdapter, HasTheBitsOfOneRank) {
  const std::string base = base_of(GetParam());
  const GoldenLogits golden = read_golden(GetParam());
  const std::vector<Ranks> groups = groups_of(base);
  ASSERT_FALSE(groups.empty());
  expect_bits_of_one(base, GetParam(), {}, {.precision = backend::MatmulPrecision::kF32}, golden.tokens, groups);
  expect_bits_of_one(base, GetParam(), {.type = AdapterType::kInt8}, {}, golden.tokens, {groups.front()});
}

std::vector<fs::path> all_adapters() {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(kGoldens / "adapters")) folders.push_back(folder.path());
  std::ranges::sort(folders);
  return folders;
}

INSTANTIATE_TEST_SUITE_P(Adapters, SharedAdapter, testing::ValuesIn(all_adapters()),
                         [](const auto& tested) { return tested.param.filename().string(); });

// Where loading puts hidden values in another order, and where it cuts experts.
class SharedRandomAdapter : public SharedAdapter {};

TEST_F(SharedRandomAdapter, HasTheBitsOfOneRankWhereHiddenValuesAreReordered) {
  const std::string base = kGoldens / "gptq/v1_sym4_order", path = temporary("reordered");
  for (const bool dora : {false, true}) {
    RandomAdapter files(1, 16);
    files.config["use_dora"] = dora;
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      files.add(layer + "self_attn.q_proj", 64, 64);
      files.add(layer + "self_attn.k_proj", 32, 64);
      files.add(layer + "mlp.gate_proj", 96, 64);
      files.add(layer + "mlp.up_proj", 96, 64);
      files.add(layer + "mlp.down_proj", 64, 96);
    }
    if (!dora) {
      files.config["modules_to_save"] = {"o_proj"};
      files.add_tensor("model.layers.1.self_attn.o_proj.weight", {64, 64}, 0.2f);
    }
    files.write(path);
    for (const AdapterType type : {AdapterType::kBf16, AdapterType::kInt8}) {
      expect_bits_of_one(base, path, {.type = type}, {}, random_tokens(24, 1), groups_of(base));
    }
  }
  fs::remove_all(path);
}

TEST_F(SharedRandomAdapter, HasTheBitsOfOneRankWhereExpertsAreCut) {
  constexpr std::int64_t kHidden = 24, kWidth = 96, kExperts = 7;
  const std::string base = write_changed(kGoldens / "families/qwen3_moe", "wide_experts", [&](ChangedWeights& weights) {
    std::mt19937 random(3);
    std::normal_distribution<float> normal(0.0f, 0.2f);
    for (auto& [name, tensor] : weights.tensors) {
      if (name.find(".experts.") == std::string::npos) continue;
      tensor.shape = name.find("down_proj") == std::string::npos ? Shape{kWidth, kHidden} : Shape{kHidden, kWidth};
      tensor.values.resize(static_cast<std::size_t>(kWidth * kHidden));
      for (float& value : tensor.values) value = normal(random);
    }
  });
  std::ifstream read(base + "/config.json");
  nlohmann::json config = nlohmann::json::parse(read);
  config["moe_intermediate_size"] = kWidth;
  std::ofstream(base + "/config.json") << config.dump();
  RandomAdapter files(2);
  for (std::int64_t e = 0; e < kExperts; ++e) {
    const std::string expert = fmt::format("model.layers.1.mlp.experts.{}.", e);
    files.add(expert + "gate_proj", kWidth, kHidden);
    files.add(expert + "up_proj", kWidth, kHidden);
    files.add(expert + "down_proj", kHidden, kWidth);
  }
  const std::string path = temporary("experts");
  files.write(path);
  std::vector<Ranks> groups = groups_of(base);
  groups.push_back({.shares = {1, 3}});
  for (const std::int64_t length : {24, 300}) {  // few rows, and blocks of them
    expect_bits_of_one(base, path, {}, {}, random_tokens(static_cast<std::size_t>(length), 1), groups);
  }
  fs::remove_all(path);
}

// Of rows that have several, in any order, and rows that have none.
TEST_F(SharedRandomAdapter, HasTheBitsOfOneRankWhereRowsHaveSeveral) {
  const std::string base = kGoldens / "tiny/llama";
  const std::vector<std::int32_t> tokens = random_tokens(12, 1);
  const auto logits = [&](TestRunner& runner) {
    std::vector<std::shared_ptr<const Adapter>> loaded;
    for (const char* name : {"llama_all", "llama_dora", "llama_head"}) {
      loaded.push_back(load_for(runner, kGoldens / "adapters" / name, {}));
    }
    kv::KvStore store = runner.transformer().make_store({}, 4).or_throw();
    const std::vector<std::int32_t> pages = {0};
    BatchInput input{.tokens = tokens, .sequences = {{0, 12, 0, pages}}};
    input.adapters = {{0, 5, loaded[0].get(), 0.5f}, {2, 7, loaded[1].get(), -1.5f}, {0, 12, loaded[2].get(), 1.0f}};
    for (std::int64_t row = 0; row < 12; ++row) input.logit_rows.push_back(row);
    const TensorView out = runner.transformer().forward(input, store);
    return AdapterLogits{{out.row(0), out.row(0) + 12 * out.cols()}};
  };
  TestRunner alone(base, {.max_length = 64});
  const AdapterLogits expected = logits(alone);
  for (const Ranks& ranks : groups_of(base)) {
    run_shared(base, {.max_length = 64}, ranks,
               [&](TestRunner& runner) { EXPECT_TRUE(same_bits(logits(runner), expected)); });
  }
}

// No rank reads all numbers then; pages and sessions of one adapter must not be another one's.
TEST_F(SharedRandomAdapter, HasAKeyOfItsFilesWithStages) {
  const auto write = [](const std::string& name, unsigned seed, double alpha) {
    RandomAdapter files(seed, 8);
    files.config["lora_alpha"] = alpha;
    files.add("model.layers.1.self_attn.q_proj", 32, 32);  // of the second stage
    files.write(temporary(name));
    return temporary(name);
  };
  const std::string one = write("one", 1, 16), copy = write("copy", 1, 16), numbers = write("numbers", 2, 16),
                    scale = write("scale", 1, 8);
  run_shared(kGoldens / "tiny/llama", {.max_length = 24}, {.shares = {1}, .stages = 2}, [&](TestRunner& runner) {
    const auto key = [&](const std::string& path, AdapterType type) {
      return load_for(runner, path, {.type = type})->key();
    };
    const std::string of_one = key(one, AdapterType::kBf16);
    EXPECT_EQ(key(copy, AdapterType::kBf16), of_one);
    EXPECT_NE(key(numbers, AdapterType::kBf16), of_one);
    EXPECT_NE(key(scale, AdapterType::kBf16), of_one);
    EXPECT_NE(key(one, AdapterType::kF32), of_one);
  });
  for (const std::string& path : {one, copy, numbers, scale}) fs::remove_all(path);
}

// Layers that are gone through several times, each time by another stage.
TEST_F(SharedRandomAdapter, HasTheBitsOfOneRankWhereLayersShareWeights) {
  const std::string base = kGoldens / "families/nanbeige", path = temporary("loops");
  RandomAdapter files(1, 4);
  files.add("model.layers.0.self_attn.q_proj", 24, 24);
  files.add("model.layers.0.mlp.down_proj", 24, 20);
  files.add("model.layers.1.self_attn.v_proj", 8, 24);
  files.write(path);
  const std::vector<Ranks> groups = {{.shares = {1}, .stages = 2},
                                     {.shares = {1}, .stages = 3},
                                     {.shares = {1}, .stages = 4},
                                     {.shares = {2, 1}, .stages = 2}};
  expect_bits_of_one(base, path, {}, {}, random_tokens(24, 1), groups);
  run_shared(base, {.max_length = 24}, groups.front(),
             [&](TestRunner& runner) { EXPECT_EQ(load_for(runner, path, {})->summary().modules, 3); });
  fs::remove_all(path);
}

// What the followers have read, seen from outside.
struct Followed {
  std::mutex mutex;
  std::vector<std::weak_ptr<const Adapter>> adapters;

  ReadTestAdapter reader() {
    return [this](const AdapterLoader& loader, const Transformer&, backend::Backend&, const std::string& path,
                  const AdapterOptions& options) {
      auto adapter = loader.load(Env::system(), path, options);
      const std::lock_guard lock(mutex);
      adapters.push_back(adapter);
      return adapter;
    };
  }
  std::size_t reads() {
    const std::lock_guard lock(mutex);
    return adapters.size();
  }
  std::int64_t living() {
    const std::lock_guard lock(mutex);
    return std::ranges::count_if(adapters, [](const auto& one) { return !one.expired(); });
  }
};

TEST_F(SharedRandomAdapter, IsReadOnceByAllAndLeavesMemoryEverywhere) {
  const std::string base = kGoldens / "tiny/llama";
  const std::vector<std::int32_t> tokens = random_tokens(12, 1);
  Followed followed;
  run_shared(
      base, {.max_length = 64}, {.shares = equal_shares(3)},
      [&](TestRunner& runner) {
        auto first = load_for(runner, kGoldens / "adapters/llama_all", {});
        adapted(runner, first.get(), tokens);
        adapted(runner, first.get(), tokens);
        EXPECT_EQ(followed.living(), 2);
        first = nullptr;
        const auto second = load_for(runner, kGoldens / "adapters/llama_dora", {});
        adapted(runner, second.get(), tokens);
        EXPECT_EQ(followed.living(), 2);
        EXPECT_EQ(followed.reads(), 4u);
      },
      followed.reader());
}

// Files that change in between are read again.
TEST_F(SharedRandomAdapter, IsReadAheadWhileRankZeroReads) {
  const std::string base = kGoldens / "tiny/llama", path = temporary("ahead");
  const std::vector<std::int32_t> tokens = random_tokens(12, 1);
  const auto use = [&](const char* golden) {
    fs::remove_all(path);
    fs::copy(kGoldens / "adapters" / golden, path);
  };
  use("llama_all");
  TestRunner alone(base, {.max_length = 64});
  const AdapterLogits expected = adapted(alone, load_for(alone, path, {}).get(), tokens);
  Followed followed;
  run_shared(
      base, {.max_length = 64}, {.shares = equal_shares(3)},
      [&](TestRunner& runner) {
        std::size_t reads = 0;
        for (const char* meanwhile : {"llama_all", "llama_dora", "llama_one_layer"}) {
          const bool changed = meanwhile != std::string("llama_all");
          const auto adapter = load_for(runner, path, {});
          use(meanwhile);
          adapted(runner, nullptr, tokens);  // steps of others
          reads += 2;
          const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (followed.reads() < reads && std::chrono::steady_clock::now() < until) std::this_thread::yield();
          use("llama_all");
          EXPECT_TRUE(same_bits(adapted(runner, adapter.get(), tokens), expected));
          reads += changed ? 2 : 0;
          EXPECT_EQ(followed.reads(), reads);
        }
      },
      followed.reader());
  fs::remove_all(path);
}

// A step that names it fails; others go on, and have their bits.
TEST_F(SharedRandomAdapter, ThatARankCannotReadFailsByName) {
  const std::string base = kGoldens / "tiny/llama", path = temporary("changing");
  const std::vector<std::int32_t> tokens = random_tokens(12, 1);
  TestRunner alone(base, {.max_length = 64});
  const AdapterLogits plain = adapted(alone, nullptr, tokens);
  const auto use = [&](const char* golden) {
    fs::remove_all(path);
    fs::copy(kGoldens / "adapters" / golden, path);
  };
  use("llama_all");
  const AdapterLogits expected = adapted(alone, load_for(alone, path, {}).get(), tokens);
  run_shared(base, {.max_length = 64}, {.shares = equal_shares(2)}, [&](TestRunner& runner) {
    const auto adapter = load_for(runner, path, {});
    const auto expect_failure = [&](std::string_view why) {
      try {
        adapted(runner, adapter.get(), tokens);
        ADD_FAILURE() << "computed all the same";
      } catch (const LoadError& failure) {
        EXPECT_EQ(failure.error().code, ErrorCode::kInvalidArgument);
        EXPECT_EQ(failure.error().param, "lora_name");
        for (const std::string_view part : {std::string_view(path), std::string_view("rank 1"), why}) {
          EXPECT_NE(failure.error().message.find(part), std::string::npos) << failure.error().message;
        }
      }
      EXPECT_TRUE(same_bits(adapted(runner, nullptr, tokens), plain));
    };
    use("llama_dora");
    expect_failure("no longer those");
    fs::remove_all(path);
    expect_failure("No such file");
    use("llama_all");
    EXPECT_TRUE(same_bits(adapted(runner, adapter.get(), tokens), expected));
  });
  fs::remove_all(path);
}

}  // namespace
}  // namespace millrace::model

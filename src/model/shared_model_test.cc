// A model shared by ranks gives the bits of one that is not: for every family, any number of ranks, and ranks that are
// not alike.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <numeric>

#include "backend/cpu/kv_encoding.h"
#include "base/cpu.h"
#include "comm/forwarding_communicator.h"
#include "model/testing/flip_bit.h"
#include "model/testing/golden_logits.h"
#include "model/testing/golden_models.h"
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
            << ranks.stages << " stages of " << ranks.shares.size() << " ranks, sequence " << s;
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
  const auto layers = static_cast<int>(std::ssize(make_spec(*checkpoint).or_throw().layers));
  for (int stages = 2; stages <= std::min(layers, 3); ++stages) groups.push_back({.shares = {1}, .stages = stages});
  if (most >= 2 && layers >= 2) groups.push_back({.shares = {2, 1}, .stages = 2});
  const fs::path folder = fs::is_directory(GetParam()) ? GetParam() : GetParam().parent_path();
  const bool has_golden = fs::exists(folder / "expected.json");
  expect_bits_of_one(path, has_golden ? read_golden(folder).tokens : random_tokens(24, 1), {.kv = "bf16"}, groups);
}

TEST_F(SharedModel, HasTheBitsOfOneRankInEveryKindOfPages) {
  for (const backend::cpu::KvEncoding& encoding : backend::cpu::all_kv_encodings()) {
    SCOPED_TRACE(encoding.name);
    const std::string path = kGoldens + "tiny/llama";
    expect_bits_of_one(path, random_tokens(600, 1), {.kv = encoding.name},  // longer than a split of attention
                       {{.shares = {1, 1}}, {.shares = {2, 1}}, {.shares = {1}, .stages = 2}});
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

// Keeps what comes.
struct Collected final : LogitsConsumer {
  std::vector<float> logits, hidden;
  void take_logits(std::int64_t, const TensorView& rows) override { add(rows, logits); }
  void take_hidden(std::int64_t, const TensorView& rows) override { add(rows, hidden); }
  static void add(const TensorView& rows, std::vector<float>& to) {
    for (std::int64_t t = 0; t < rows.rows(); ++t) to.insert(to.end(), rows.row(t), rows.row(t) + rows.cols());
  }
};

// Logits and hidden states of all rows, more than one block of them.
TEST_F(SharedModel, GivesRankZeroTheRowsOfItsSink) {
  const std::string path = kGoldens + "tiny/llama";
  const TestRunner::Options options{.max_length = 200};
  const std::vector<std::int32_t> tokens = random_tokens(200, 3);
  Collected expected;
  TestRunner(path, options).run_into(tokens, 150, expected);
  for (const Ranks& ranks : {Ranks{.shares = {1, 1}}, {.shares = {1}, .stages = 2}, {.shares = {1, 2}, .stages = 2}}) {
    Collected found;
    run_shared(path, options, ranks, [&](TestRunner& runner) { runner.run_into(tokens, 150, found); });
    EXPECT_EQ(found.logits, expected.logits) << ranks.stages;
    EXPECT_EQ(found.hidden, expected.hidden) << ranks.stages;
  }
}

// Several steps on their way through the stages, each of other sequences, and one that overtakes them.
TEST_F(SharedModel, HasStepsInFlight) {
  const std::string path = kGoldens + "tiny/llama";
  const TestRunner::Options options{.max_length = 40};
  constexpr std::size_t kSequences = 4;
  const auto step_of = [](std::size_t s, std::int64_t first, std::span<const std::int32_t> pages) {
    const std::vector<std::int32_t> tokens = random_tokens(12, static_cast<int>(s) + 1);
    BatchInput input;
    const std::int64_t n = first == 0 ? 10 : 1;
    input.tokens.assign(tokens.begin() + first, tokens.begin() + first + n);
    input.sequences.push_back({0, n, first, pages});
    input.logit_rows = {n - 1};
    return input;
  };
  std::vector<std::vector<float>> expected;
  TestRunner alone(path, options);
  for (std::size_t s = 0; s < kSequences; ++s) {
    const std::vector<float> all = alone.run_whole([&] {
      auto tokens = random_tokens(12, static_cast<int>(s) + 1);
      tokens.resize(11);
      return tokens;
    }());
    expected.push_back(all);
  }
  for (const Ranks& ranks : {Ranks{.shares = {1}, .stages = 2}, {.shares = {1, 1}, .stages = 2}}) {
    run_shared(path, options, ranks, [&](TestRunner& runner) {
      Transformer& model = runner.transformer();
      const kv::KvStore store = model.make_store({.encoding = "f32"}, 8).or_throw();
      const auto vocabulary = static_cast<std::size_t>(model.spec().vocab_size);
      const std::vector<std::vector<std::int32_t>> pages = {{0}, {1}, {2}, {3}};
      for (const std::int64_t first : {0, 10}) {
        std::vector<BatchInput> inputs;
        for (std::size_t s = 0; s < kSequences; ++s) {
          inputs.push_back(step_of(s, first, pages[s]));
          model.begin(inputs.back(), store);
        }
        const BatchInput again = step_of(0, 0, pages[0]);  // as drafters run the model between steps
        EXPECT_EQ(std::memcmp(model.forward(again, store).row(0), expected[0].data() + 9 * vocabulary,
                              vocabulary * sizeof(float)),
                  0);
        for (std::size_t s = 0; s < kSequences; ++s) {
          const TensorView logits = model.finish(inputs[s]);
          const std::size_t row = first == 0 ? 9 : 10;
          EXPECT_EQ(std::memcmp(logits.row(0), expected[s].data() + row * vocabulary, vocabulary * sizeof(float)), 0)
              << ranks.shares.size() << " " << s << " " << first;
        }
      }
    });
  }
}

// Keeps the states that it is shown, of a model with four layers.
class KeepsStates final : public HiddenStateHook {
 public:
  explicit KeepsStates(backend::Backend& backend) : backend_(backend) {}
  std::span<const std::int64_t> layers() const noexcept override { return layers_; }
  void pass(std::int64_t layer, const backend::DeviceView& residual) override {
    EXPECT_EQ(layer, layers_[shown_++]);
    const backend::DeviceBuffer copy = backend_.allocate(residual.rows() * residual.cols() * sizeof(float)).or_throw();
    const backend::DeviceView rows = copy.view(residual.rows(), residual.cols());
    std::vector<std::int64_t> all(static_cast<std::size_t>(residual.rows()));
    std::iota(all.begin(), all.end(), 0);
    backend_.load_rows(residual, all, rows);
    backend_.synchronize();
    Collected::add(backend_.host_view(rows).view(), states);
  }
  void computed(const BatchInput&) override { EXPECT_EQ(shown_, std::size(layers_)); }

  std::vector<float> states;

 private:
  backend::Backend& backend_;
  const std::int64_t layers_[4] = {0, 1, 3, 4};
  std::size_t shown_ = 0;
};

// Whichever stage has computed them, and however many steps are on their way.
TEST_F(SharedModel, ShowsHooksTheStatesOfAllStages) {
  const std::string path = kGoldens + "families/cohere2";
  const TestRunner::Options options{.max_length = 40};
  const std::vector<std::vector<std::int32_t>> pages = {{0}, {1}, {2}};
  const auto states_of = [&](TestRunner& runner) {
    Transformer& model = runner.transformer();
    const bool in_flight = model.part().stages() > 1;
    const kv::KvStore store = model.make_store({.encoding = "f32"}, 8).or_throw();
    std::deque<KeepsStates> hooks;
    std::vector<BatchInput> inputs;
    for (std::size_t s = 0; s < pages.size(); ++s) {
      const auto n = static_cast<std::int64_t>(8 * s + 3);
      BatchInput& input = inputs.emplace_back();
      input.tokens = random_tokens(static_cast<std::size_t>(n), static_cast<int>(s));
      input.sequences.push_back({0, n, 0, pages[s]});
      input.logit_rows = {n - 1};
      if (s != 1) input.hook = &hooks.emplace_back(runner.backend());  // one step goes without
      in_flight ? model.begin(input, store) : static_cast<void>(model.forward(input, store));
    }
    std::vector<std::vector<float>> states;
    for (const BatchInput& input : inputs) {
      if (in_flight) model.finish(input);
    }
    for (KeepsStates& hook : hooks) states.push_back(std::move(hook.states));
    return states;
  };
  TestRunner alone(path, options);
  const auto expected = states_of(alone);
  ASSERT_EQ(expected.size(), 2u);
  ASSERT_EQ(expected[1].size(), 4u * 19 * static_cast<std::size_t>(alone.transformer().spec().hidden_size));
  for (const Ranks& ranks : {Ranks{.shares = {1, 1}},
                             {.shares = {1}, .stages = 2},
                             {.shares = {1}, .stages = 3},
                             {.shares = {1, 1}, .stages = 2}}) {
    run_shared(path, options, ranks, [&](TestRunner& runner) { EXPECT_EQ(states_of(runner), expected); });
  }
}

// Damages what rank 0 gets of one exchange.
class Damages final : public comm::ForwardingCommunicator {
 public:
  Damages(std::shared_ptr<comm::Communicator> inner, std::uint64_t block)
      : ForwardingCommunicator(std::move(inner)), block_(block) {}
  std::uint64_t publish(const Block& block) noexcept override {
    of_rank_1_ = block.ends.empty() ? 0 : block.first + block.ends[0];
    return inner_->publish(block);
  }
  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override {
    auto come = inner_->await(block, timeout);
    if (block == block_ && rank() == 0) memory()[of_rank_1_ + 3] ^= std::byte{0x10};
    return come;
  }
  // So that the others end when rank 0 has given them up.
  Result<std::vector<std::byte>> receive(Timeout timeout) override {
    return inner_->receive(std::min(timeout, kShort));
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override { return inner_->take(std::min(timeout, kShort)); }

 private:
  static constexpr Timeout kShort = std::chrono::milliseconds(500);
  std::uint64_t block_;
  std::size_t of_rank_1_ = 0;
};

// A bit that flips on its way to one rank: of the rows behind the last layer it is found in a step that is checked. Of
// what ranks exchange before, all get the others' values again, so that they agree on wrong ones: it is found in a
// block that has checksums. A step has ten exchanges here.
TEST_F(SharedModel, FindsRowsThatAreDamaged) {
  const auto failure_of = [](std::uint64_t damaged) {
    std::string message;
    run_shared(
        kGoldens + "tiny/llama", {.max_length = 24}, {.shares = {1, 1}},
        [&](TestRunner& runner) {
          try {
            for (int step = 0; step < 12; ++step) runner.run_whole(random_tokens(8, 1));
          } catch (const LoadError& failure) {
            message = failure.what();
          }
        },
        {},
        [&](std::shared_ptr<comm::Communicator> group) {
          return std::make_shared<Damages>(std::move(group), damaged);
        });
    return message;
  };
  EXPECT_EQ(failure_of(1'000'000), "");
  EXPECT_NE(failure_of(9).find("rank 1 answers with other rows in step 0 than rank 0 has"), std::string::npos)
      << failure_of(9);
  std::uint64_t checked = 1;
  while ((checked * 0x9e3779b97f4a7c15u) >> 58 != 0) ++checked;
  ASSERT_LT(checked, 120u);
  EXPECT_NE(failure_of(checked).find("rank 0 has got other bytes than rank 1 has sent"), std::string::npos)
      << checked << " " << failure_of(checked);
}

// A bit of a weight of one rank: no rows show it, as all ranks get what that one computes.
TEST_F(SharedModel, FindsWeightsThatAreDamaged) {
  const std::string path = kGoldens + "tiny/llama";
  const auto failure_of = [&](Ranks ranks, int damaged) {
    std::string message;
    ranks.prepare = [&](int rank, const Transformer& model) {
      if (rank == damaged) flip_bit(*model.linears().back(), 3);
    };
    run_shared(
        path, {.max_length = 24, .weight_round_ms = 1.0}, ranks,
        [&](TestRunner& runner) {
          try {
            for (int step = 0; step < 20'000 && runner.transformer().notes().weight_rounds == 0; ++step) {
              runner.run_whole(random_tokens(8, 1));
            }
          } catch (const LoadError& failure) {
            EXPECT_EQ(failure.error().code, ErrorCode::kUnavailable);
            EXPECT_EQ(failure.error().param, kDamage);
            message = failure.what();
          } catch (const DamagedWeights& failure) {  // of rank 0 itself
            message = failure.what();
          }
        },
        {},
        [&](std::shared_ptr<comm::Communicator> group) {
          return std::make_shared<Damages>(std::move(group), 1'000'000);
        });
    return message;
  };
  const std::string what = "weight lm_head.weight of " + path + " has changed in memory since it was loaded";
  EXPECT_EQ(failure_of({.shares = {1, 1}}, -1), "");
  EXPECT_EQ(failure_of({.shares = {1, 1}}, 0), what);
  EXPECT_EQ(failure_of({.shares = {1, 1}}, 1), "rank 1: " + what);
  EXPECT_EQ(failure_of({.shares = {1}, .stages = 2}, 1), "rank 1: " + what);
}

// Rank 0 cannot go on with a step that the others have been told of: none of them is believed any more, or the next
// step would get what they compute of this one.
TEST_F(SharedModel, GivesRanksUpWithWhichItCannotGoOn) {
  struct Fails final : HiddenStateHook {
    std::int64_t first[1] = {0};
    std::span<const std::int64_t> layers() const noexcept override { return first; }
    void pass(std::int64_t, const backend::DeviceView&) override {
      throw_load_error(ErrorCode::kResourceExhausted, "", "no memory");
    }
    void computed(const BatchInput&) override {}
  } fails;
  for (const Ranks& ranks : {Ranks{.shares = {1}, .stages = 2}, {.shares = {1, 1}}}) {
    run_shared(
        kGoldens + "tiny/llama", {.max_length = 24}, ranks,
        [&](TestRunner& runner) {
          Transformer& model = runner.transformer();
          const kv::KvStore store = model.make_store({.encoding = "f32"}, 1).or_throw();
          const std::vector<std::int32_t> pages = {0};
          BatchInput input;
          input.tokens = {1, 2, 3};
          input.sequences.push_back({0, 3, 0, pages});
          input.logit_rows = {2};
          const auto code_of = [&] {
            try {
              model.forward(input, store);
              return std::string("computed");
            } catch (const LoadError& failure) {
              EXPECT_EQ(failure.error().code, ErrorCode::kUnavailable);
              return std::string(failure.what());
            }
          };
          input.hook = &fails;
          EXPECT_EQ(code_of(), "no memory");
          input.hook = nullptr;
          EXPECT_EQ(code_of(), "no memory") << "until ranks are started anew";
        },
        {}, [&](std::shared_ptr<comm::Communicator> group) { return std::make_shared<Damages>(std::move(group), 0); });
  }
}

// A number that a format does not hold is named by its head in the whole model, whichever rank has it.
TEST_F(SharedModel, NamesHeadsAsTheWholeModelDoes) {
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), kGoldens + "tiny/llama").or_throw();
  const ModelSpec spec = make_spec(*checkpoint).or_throw();  // 4 query heads, 2 key heads
  const Shards two = Shards::make(spec, equal_shares(2)).or_throw(),
               four = Shards::make(spec, equal_shares(4)).or_throw();
  for (std::int64_t layer = 0; layer < 2; ++layer) {
    EXPECT_EQ(two.first_key_head(spec, layer, 0), 0);
    EXPECT_EQ(two.first_key_head(spec, layer, 1), 1);
    EXPECT_EQ(four.first_key_head(spec, layer, 1), 0);
    EXPECT_EQ(four.first_key_head(spec, layer, 2), 1);
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
  run_shared(path, {.max_length = 24}, {.shares = {1, 2}, .stages = 2},
             [&](TestRunner& runner) { EXPECT_EQ(counted(runner), expected); });
}

INSTANTIATE_TEST_SUITE_P(Models, SharedModel, testing::ValuesIn(golden_models()), [](const auto& of) {
  std::string name = fs::relative(of.param, kGoldens);
  std::ranges::replace_if(name, [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
});

}  // namespace
}  // namespace millrace::model

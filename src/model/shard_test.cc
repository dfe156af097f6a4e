// Which rows ranks have: all of them together each row once, none across a border that must not be cut.

#include "model/shard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/blocks/attention.h"
#include "model/blocks/experts.h"
#include "model/blocks/mlp.h"
#include "model/make_spec.h"
#include "model/memory_plan.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

bool all_tensors(const std::string&) { return true; }

ModelSpec small_spec(std::int64_t heads, std::int64_t kv_heads, std::int64_t layers = 4) {
  ModelSpec spec;
  spec.vocab_size = 1000;
  spec.hidden_size = 144;
  ExpertsParams experts{.width = 70, .shared_width = 33};
  experts.routing = {.router = "softmax", .experts = 4, .chosen = 2};
  const AttentionParams attention{
      .heads = heads, .kv_heads = kv_heads, .head_dim = 20, .value_dim = 12, .gate = OutputGate::kHeads};
  for (std::int64_t i = 0; i < layers; ++i) {
    spec.layers.push_back(
        {.blocks = {attention, i % 2 == 0 ? BlockSpec(MlpParams{.width = 333, .gated = true}) : BlockSpec(experts)}});
  }
  return spec;
}

template <typename Visit>
void for_weights(const ModelSpec& spec, const Visit& visit) {
  for (const BlockWeight& weight : outer_weights(spec)) visit(weight, 0);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    for (const BlockSpec& block : spec.layers[i].blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, all_tensors)) {
        visit(weight, static_cast<std::int64_t>(i));
      }
    }
  }
}

const std::vector<std::vector<double>> kShares = {
    {1}, {1, 1}, {1, 2}, {1, 1, 1}, {5, 1, 3}, {1, 1e-9}, {2, 2, 1, 1e6}, {1, 1, 1, 1, 1, 1}, {1e308, 1e308}};

TEST(Shards, GiveEveryRowToOneRankAndKeyHeadsToThoseThatNeedThem) {
  for (const auto& [heads, kv_heads] : {std::pair{9, 3}, {6, 6}, {7, 1}, {32, 8}}) {
    const ModelSpec spec = small_spec(heads, kv_heads);
    for (const std::vector<double>& shares : kShares) {
      const Shards shards = Shards::make(spec, shares).or_throw();
      for_weights(spec, [&](const BlockWeight& weight, std::int64_t layer) {
        if (weight.axis == RowAxis::kWhole) return;
        const std::int64_t all = weight.rows + weight.zero_rows;
        std::int64_t until = 0;
        for (int rank = 0; rank < shards.ranks(); ++rank) {
          const RowRange rows = shards.rows(weight, layer, rank);
          EXPECT_LE(rows.first, until) << weight.role;
          if (weight.axis != RowAxis::kKeyHeads) {
            EXPECT_EQ(rows.first, until) << weight.role;
          }
          EXPECT_LE(rows.first, rows.last);
          until = rows.last;
        }
        EXPECT_EQ(until, all) << weight.role;
      });
    }
  }
}

TEST(Shards, CutNoHeadGroupOrPanel) {
  const ModelSpec spec = small_spec(9, 3);
  for (const std::vector<double>& shares : kShares) {
    const Shards shards = Shards::make(spec, shares).or_throw();
    for_weights(spec, [&](const BlockWeight& weight, std::int64_t layer) {
      const std::int64_t unit = weight.axis == RowAxis::kHidden ? 32
                                : weight.axis == RowAxis::kResidual || weight.axis == RowAxis::kVocabulary
                                    ? 16
                                    : weight.axis_rows;
      for (int rank = 0; rank < shards.ranks(); ++rank) {
        const RowRange rows = shards.rows(weight, layer, rank);
        if (rows.size() == 0) continue;  // there are more ranks than units
        EXPECT_EQ(rows.first % unit, 0) << weight.role;
        if (rank + 1 < shards.ranks() && rows.last < weight.rows) {
          EXPECT_EQ(rows.last % unit, 0) << weight.role;
        }
      }
    });
  }
}

// Gate and up of a network, and of attention queries, gates and what they see, are of the same borders.
TEST(Shards, ArePartsThatBelongTogether) {
  const ModelSpec spec = small_spec(9, 3);
  const Shards shards = Shards::make(spec, kShares[4]).or_throw();
  for (std::int64_t layer = 0; layer < std::ssize(spec.layers); ++layer) {
    for (int rank = 0; rank < shards.ranks(); ++rank) {
      const RowRange queries = shards.query_heads(9, layer, rank), keys = shards.key_heads(9, 3, layer, rank);
      EXPECT_GE(queries.size(), 1);
      EXPECT_EQ(keys.first, queries.first / 3);
      EXPECT_EQ(keys.last, (queries.last + 2) / 3);
      std::map<std::string, RowRange> of;
      for (const BlockSpec& block : spec.layers[static_cast<std::size_t>(layer)].blocks) {
        for (const BlockWeight& weight : block_weights(block, spec, all_tensors)) {
          of[weight.role] = shards.rows(weight, layer, rank);
        }
      }
      EXPECT_EQ(of.at("attn_q"), (RowRange{queries.first * 20, queries.last * 20}));
      EXPECT_EQ(of.at("attn_gate"), queries);
      EXPECT_EQ(of.at("attn_k"), (RowRange{keys.first * 20, keys.last * 20}));
      EXPECT_EQ(of.at("attn_v"), (RowRange{keys.first * 12, keys.last * 12}));
      if (layer % 2 == 0) {
        EXPECT_EQ(of.at("ffn_gate"), of.at("ffn_up"));
      } else {
        EXPECT_EQ(of.at("ffn_gate_exps"), of.at("ffn_up_exps"));
        EXPECT_EQ(of.at("ffn_gate_shexp"), of.at("ffn_up_shexp"));
        EXPECT_EQ(of.at("ffn_gate_inp"), (RowRange{0, 4})) << "every rank routes";
      }
    }
  }
}

// Nine heads over two ranks are 4 and 5 by turns.
TEST(Shards, EvenOutOverLayers) {
  const ModelSpec spec = small_spec(9, 3, 30);
  const Shards shards = Shards::make(spec, kShares[1]).or_throw();
  std::vector<std::int64_t> heads(2), keys(2);
  for (int rank = 0; rank < 2; ++rank) {
    for (std::int64_t layer = 0; layer < 30; ++layer) heads[rank] += shards.query_heads(9, layer, rank).size();
    for (const kv::KvNeed& need : shards.kv_needs(spec, rank)) keys[rank] += need.kv_heads;
  }
  EXPECT_EQ(heads, (std::vector<std::int64_t>{135, 135}));
  EXPECT_EQ(keys, (std::vector<std::int64_t>{60, 60})) << "two of three each: one is of both";
}

TEST(Shards, FollowUnequalShares) {
  const ModelSpec spec = small_spec(9, 3, 3);
  const Shards shards = Shards::make(spec, kShares[2]).or_throw();
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    EXPECT_EQ(shards.query_heads(9, layer, 0), (RowRange{0, 3}));
    EXPECT_EQ(shards.query_heads(9, layer, 1), (RowRange{3, 9}));
  }
}

TEST(Shards, OfTooManyRanksOrWrongSharesAreRefusedByName) {
  const ModelSpec spec = small_spec(6, 2);
  const auto refused = [&](const std::vector<double>& shares) {
    const auto made = Shards::make(spec, shares);
    return made ? std::string() : made.error().param + ": " + made.error().message;
  };
  EXPECT_EQ(refused(std::vector<double>(6, 1.0)), "");
  EXPECT_EQ(refused(std::vector<double>(7, 1.0)),
            "tensor-parallel-size: tensor-parallel-size is 7: must be from 1 to 6, the query heads of a layer");
  EXPECT_EQ(refused({1e308, 1e308, 1e-308}), "") << "their sum is no number";
  for (const double wrong : {0.0, -1.0, std::numeric_limits<double>::infinity(), std::nan("")}) {
    EXPECT_TRUE(refused({1.0, wrong}).starts_with("tensor-parallel-shares: ")) << wrong;
  }
}

// A layer that runs with the weights of an earlier one keeps keys of the heads that these have.
TEST(Shards, OfRepeatedLayersAreThoseOfTheirWeights) {
  ModelSpec spec = small_spec(7, 7, 2);
  spec.layers.push_back(spec.layers[1]);
  spec.layers[2].weights_of = 1;
  const auto needs = Shards::make(spec, kShares[1]).or_throw().kv_needs(spec, 0);
  ASSERT_EQ(needs.size(), 3u);
  EXPECT_NE(needs[1], needs[0]);
  EXPECT_EQ(needs[2], needs[1]);
}

TEST(Shards, TogetherPlanTheMemoryOfTheModel) {
  TestRunner runner(std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/llama", {.max_length = 64});
  const ModelSpec& spec = runner.transformer().spec();
  const CheckpointWeights weights(runner.checkpoint());
  const MemoryPlan whole = plan_memory(weights, spec, runner.backend(), {.length = 64});
  const Shards one = Shards::make(spec, kShares[0]).or_throw();
  const MemoryPlan alone = plan_memory(weights, spec, runner.backend(), {.length = 64, .shards = &one});
  EXPECT_EQ(alone.weights, whole.weights);
  EXPECT_EQ(alone.kv, whole.kv);
  EXPECT_EQ(alone.read, whole.read);
  EXPECT_EQ(alone.multiplied, whole.multiplied);
  const Shards two = Shards::make(spec, kShares[1]).or_throw();
  std::uint64_t sum = 0, read = 0;
  for (int rank = 0; rank < 2; ++rank) {
    const MemoryPlan part = plan_memory(weights, spec, runner.backend(), {.length = 64, .shards = &two, .rank = rank});
    sum += part.weights;
    read += part.read;
    EXPECT_LT(part.weights, whole.weights);
  }
  EXPECT_GE(sum, whole.weights);  // key heads of both, and what is whole
  EXPECT_GE(read, whole.read);
}

// The first stage has a table of embeddings that the last one multiplies with, where they are the head.
TEST(Shards, OfStagesMultiplyTogetherWhatTheModelDoes) {
  for (const char* model : {"llama", "qwen3"}) {  // qwen3 has one matrix for both
    TestRunner runner(std::string(MILLRACE_TEST_DATA) + "/../golden/tiny/" + model, {.max_length = 64});
    const ModelSpec& spec = runner.transformer().spec();
    const CheckpointWeights weights(runner.checkpoint());
    const Shards stages = Shards::make(spec, kShares[0], 2).or_throw();
    double multiplied = 0.0;
    for (int rank = 0; rank < 2; ++rank) {
      multiplied += plan_memory(weights, spec, runner.backend(), {.shards = &stages, .rank = rank}).multiplied;
    }
    EXPECT_EQ(multiplied, plan_memory(weights, spec, runner.backend(), {}).multiplied) << model;
  }
}

// Of twelve equal layers and no head to speak of.
TEST(Shards, OfStagesHaveLayersByTheirSpeeds) {
  ModelSpec spec = small_spec(6, 2);
  spec.layers.resize(12, spec.layers.front());
  spec.vocab_size = 1;
  const auto layers = [&spec](const std::vector<double>& speeds) {
    const Shards shards = Shards::make(spec, kShares[0], speeds).or_throw();
    std::vector<std::int64_t> counts;
    for (int rank = 0; rank < shards.ranks(); ++rank) counts.push_back(shards.layers(rank).size());
    return counts;
  };
  EXPECT_EQ(layers({1, 1}), (std::vector<std::int64_t>{6, 6}));
  EXPECT_EQ(layers({1, 2}), (std::vector<std::int64_t>{4, 8}));
  EXPECT_EQ(layers({3, 2, 1}), (std::vector<std::int64_t>{6, 4, 2}));
  EXPECT_DOUBLE_EQ(Shards::make(spec, kShares[0], std::vector<double>{3, 2, 1}).or_throw().share(0), 0.5);
  EXPECT_EQ(layers({1, 1000}), (std::vector<std::int64_t>{1, 11}));  // each has one at least
  EXPECT_EQ(layers({1, 5e-324}), (std::vector<std::int64_t>{1, 11})) << "no number says how slow the second is";
  const auto refused = Shards::make(spec, kShares[0], std::vector<double>{1, 0});
  EXPECT_EQ(refused.error().message, "pipeline-parallel-shares has 0: must be numbers above 0");
}

}  // namespace
}  // namespace millrace::model

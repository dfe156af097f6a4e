#include "model/block.h"

#include <gtest/gtest.h>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"

namespace millrace::model {
namespace {

enum class Positions { kLearned, kRotary };

constexpr backend::Limits kLimits{.max_key_dim = 256, .max_value_dim = 256, .max_group = 64};

ModelSpec spec_of(std::int64_t head_dim, Positions positions, std::int64_t heads = 4) {
  ModelSpec spec;
  spec.hidden_size = 32;
  spec.ropes = {{.dim = head_dim}};
  const int rope = positions == Positions::kRotary ? 0 : -1;
  spec.layers.assign(
      2, {.blocks = {
              AttentionParams{.heads = heads, .kv_heads = heads == 4 ? 2 : heads, .head_dim = head_dim, .rope = rope},
              MlpParams{.width = 64}}});
  return spec;
}

std::string outcome(const ModelSpec& spec) {
  const auto checked = check_dimensions(spec, kLimits);
  return checked ? "" : checked.error().message;
}

TEST(BlockDimensions, TakesEveryHeadSizeUpToTheLargest) {
  for (std::int64_t head_dim = 1; head_dim <= 256; ++head_dim) {
    EXPECT_EQ(outcome(spec_of(head_dim, Positions::kLearned)), "");
    EXPECT_EQ(outcome(spec_of(head_dim, Positions::kRotary)).empty(), head_dim % 2 == 0) << head_dim;
  }
}

TEST(BlockDimensions, NeedsAQueryHead) {
  ModelSpec spec = spec_of(8, Positions::kRotary);
  spec.layers[1].get<AttentionParams>().heads = 0;
  EXPECT_EQ(outcome(spec), "n_heads is 0: must be 1 or more, and a multiple of the key/value heads");
}

TEST(BlockDimensions, NamesAHeadSizeThatNoKernelTakesAndTheLimit) {
  for (const std::int64_t head_dim : {-2, 0, 257, 258}) {
    EXPECT_EQ(outcome(spec_of(head_dim, Positions::kLearned)),
              fmt::format("head_dim is {}: must be from 1 to 256", head_dim));
  }
  for (const std::int64_t head_dim : {0, 1, 33, 255, 257, 258}) {
    EXPECT_EQ(outcome(spec_of(head_dim, Positions::kRotary)),
              fmt::format("head_dim is {}: must be an even number, as positions are rotary, from 2 to 256", head_dim));
  }
  EXPECT_EQ(check_dimensions(spec_of(258, Positions::kRotary), kLimits).error().param, "head_dim");
  ModelSpec second = spec_of(20, Positions::kRotary);
  second.ropes.push_back({.dim = 21});
  second.layers[1].get<AttentionParams>().head_dim = 21;
  second.layers[1].get<AttentionParams>().rope = 1;
  EXPECT_EQ(outcome(second), "head_dim is 21: must be an even number, as positions are rotary, from 2 to 256");
}

TEST(BlockDimensions, TakesValuesOfAnySizeUpToTheLargest) {
  ModelSpec spec = spec_of(20, Positions::kRotary);
  for (std::int64_t value_dim = 1; value_dim <= 256; ++value_dim) {
    spec.layers[1].get<AttentionParams>().value_dim = value_dim;
    EXPECT_EQ(outcome(spec), "") << value_dim;
  }
  for (const std::int64_t value_dim : {-1, 257}) {
    spec.layers[1].get<AttentionParams>().value_dim = value_dim;
    EXPECT_EQ(outcome(spec), fmt::format("value_dim is {}: must be from 1 to 256", value_dim));
  }
  EXPECT_EQ(check_dimensions(spec, kLimits).error().param, "value_dim");
  EXPECT_EQ(check_dimensions(spec, {.max_key_dim = 256, .max_value_dim = 512}).ok(), true);
}

TEST(BlockDimensions, NamesWhatOddHeadsMakeOdd) {
  EXPECT_EQ(outcome(spec_of(5, Positions::kLearned, 3)), "n_heads * head_dim is 15: must be even");
  ModelSpec values = spec_of(5, Positions::kLearned, 3);
  for (LayerSpec& layer : values.layers) layer.get<AttentionParams>().value_dim = 4;
  EXPECT_EQ(outcome(values), "");
  values.layers[1].get<AttentionParams>().value_dim = 7;
  EXPECT_EQ(outcome(values), "n_heads * value_dim is 21: must be even");
  ModelSpec partial = spec_of(20, Positions::kRotary);
  partial.ropes[0].dim = 5;
  EXPECT_EQ(outcome(partial), "rope_dim is 5: must be even and at most head_dim, 20");
  partial.ropes[0].dim = 22;
  EXPECT_EQ(outcome(partial), "rope_dim is 22: must be even and at most head_dim, 20");
}

// Heads 0, 2 and 4 of the file share one key/value head, 1, 3 and 5 the other.
TEST(HeadTurns, AreUndoneRowByRow) {
  BlockWeight weight{.role = "attn_q", .name = "q", .rows = 12, .cols = 8, .row_turns = {.size = 2, .groups = 2}};
  const std::vector<std::int64_t> expected = {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11};
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(tensor_row(weight, i), expected[static_cast<std::size_t>(i)]) << i;
  weight.slice = {.first = 4, .run = 12, .stride = 12, .of = 20};
  EXPECT_EQ(tensor_row(weight, 6), 6);
  weight.row_turns = {};
  EXPECT_EQ(tensor_row(weight, 6), 10);
}

}  // namespace
}  // namespace millrace::model

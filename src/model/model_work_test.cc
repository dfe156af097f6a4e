#include "model/model_work.h"

#include <gtest/gtest.h>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"

namespace millrace::model {
namespace {

ModelSpec small_spec(std::int64_t window = 0) {
  ModelSpec spec;
  spec.vocab_size = 100;
  spec.hidden_size = 8;
  const LayerSpec layer{.blocks = {AttentionParams{.heads = 4, .kv_heads = 2, .head_dim = 2, .window = window},
                                   MlpParams{.width = 16, .gated = true}}};
  spec.layers = {layer, layer};
  return spec;
}

TEST(ModelWork, CountsEveryWeightTwice) {
  const ModelSpec spec = small_spec();
  const ModelWork work(spec);
  // A layer: q 8x8, k and v 8x4, o 8x8, gate and up 8x16, down 16x8.
  EXPECT_EQ(work.layer_operations(), 2 * 2.0 * (64 + 32 + 32 + 64 + 3 * 128));
  EXPECT_EQ(work.head_operations(), 2.0 * 8 * 100);
}

TEST(ModelWork, AttentionGrowsWithWhatIsVisible) {
  const ModelSpec spec = small_spec();
  const ModelWork work(spec);
  // Tokens 3 and 4 see 4 and 5 tokens; queries are 8 wide; q k^T and p v in each of two layers.
  const double attention = 2 * 4.0 * 8 * (4 + 5);
  EXPECT_EQ(work.operations(3, 5), 2 * work.layer_operations() + work.head_operations() + attention);
  EXPECT_EQ(work.kv_bytes(3, 5, 10.0), 90.0);
  EXPECT_EQ(work.operations(0, 5) + work.head_operations(), work.operations(0, 3) + work.operations(3, 5));
}

TEST(ModelWork, AWindowEndsTheGrowth) {
  const ModelSpec spec = small_spec(3);
  const ModelWork work(spec);
  EXPECT_EQ(work.kv_bytes(0, 5, 1.0), 1 + 2 + 3 + 3 + 3);
  EXPECT_EQ(work.kv_bytes(3, 5, 1.0), 3 + 3);
  EXPECT_EQ(work.kv_bytes(1, 2, 1.0), 2);
}

TEST(ModelWork, CountsKeysAndValuesByTheirOwnSizes) {
  ModelSpec spec = small_spec();
  auto& second = spec.layers[1].get<AttentionParams>();
  second.value_dim = 6;
  const ModelWork work(spec);
  // v 8x12 and o 24x8 in the second layer.
  EXPECT_EQ(work.layer_operations(), 2.0 * (64 + 32 + 32 + 64 + 3 * 128) + 2.0 * (64 + 32 + 96 + 192 + 3 * 128));
  // Queries are 8 wide, outputs 8 and 24; tokens 3 and 4 see 4 and 5.
  EXPECT_EQ(work.operations(3, 5) - 2 * work.layer_operations() - work.head_operations(),
            2.0 * ((8 + 8) + (8 + 24)) * (4 + 5));
  // A token takes 2 * (2 + 2) numbers in the first layer and 2 * (2 + 6) in the second.
  EXPECT_DOUBLE_EQ(work.reads()[0].weight, 8.0);
  EXPECT_DOUBLE_EQ(work.reads()[1].weight, 16.0);
  second.window = 3;
  EXPECT_DOUBLE_EQ(ModelWork(spec).kv_bytes(3, 5, 24.0), 8.0 * (4 + 5) + 16.0 * (3 + 3));
}

// A token takes twice as many bytes in the layer of two heads as in the one of one head.
TEST(ModelWork, LayersCountByWhatTheyKeep) {
  ModelSpec spec = small_spec();
  auto& second = spec.layers[1].get<AttentionParams>();
  second.kv_heads = 1, second.window = 3;
  const ModelWork work(spec);
  EXPECT_DOUBLE_EQ(work.kv_bytes(3, 5, 30.0), 20.0 * (4 + 5) + 10.0 * (3 + 3));
  EXPECT_EQ(work.layer_operations(), 2.0 * (64 + 32 + 32 + 64 + 3 * 128) + 2.0 * (64 + 16 + 16 + 64 + 3 * 128));
}

}  // namespace
}  // namespace millrace::model

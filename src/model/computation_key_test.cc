#include "model/computation_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "backend/testing/test_backend.h"
#include "model/block.h"
#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"

namespace millrace::model {
namespace {

ModelSpec spec() {
  ModelSpec spec;
  spec.family = "llama";
  spec.hidden_size = spec.vocab_size = 40;
  spec.rope_dim = 20;
  spec.layers.assign(2, {.blocks = {AttentionParams{.heads = 2, .kv_heads = 2, .head_dim = 20, .scale = 0.2f},
                                    MlpParams{.width = 64}}});
  return spec;
}

TEST(ComputationKey, TellsApartWhateverAConfigurationChanges) {
  const std::vector<std::function<void(ModelSpec&)>> changes = {
      [](ModelSpec&) {},
      [](ModelSpec& s) { s.family = "mistral"; },
      [](ModelSpec& s) { s.context_length = 64; },
      [](ModelSpec& s) { s.norm = backend::NormKind::kLayer; },
      [](ModelSpec& s) { s.norm_eps = 1e-6f; },
      [](ModelSpec& s) { s.positions = PositionKind::kLearned; },
      [](ModelSpec& s) { s.rope_theta = 1e6; },
      [](ModelSpec& s) { s.rope_dim = 10; },
      [](ModelSpec& s) { s.rope_interleaved = true; },
      [](ModelSpec& s) { s.rope_scaling.kind = RopeScaling::Kind::kLinear; },
      [](ModelSpec& s) { s.rope_scaling.factor = 2.0; },
      [](ModelSpec& s) { s.rope_scaling.original_context = 32; },
      [](ModelSpec& s) { s.rope_scaling.attention_factor = 1.0; },
      [](ModelSpec& s) { s.rope_scaling.truncate = false; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().heads = 4; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().kv_heads = 1; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().head_dim = 18; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().value_dim = 18; },
      [](ModelSpec& s) { s.layers[0].get<AttentionParams>().value_dim = 18; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().q_k_norm = true; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().scale = 0.3f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().window = 8; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().width = 62; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().gated = false; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().activation = backend::Activation::kGelu; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().input_width = 80; },
      [](ModelSpec& s) { s.layers[1].blocks.pop_back(); },
      [](ModelSpec& s) { s.layers.pop_back(); },
  };
  std::set<std::uint64_t> keys;
  for (const auto& change : changes) {
    ModelSpec changed = spec();
    change(changed);
    EXPECT_TRUE(keys.insert(computation_key(changed)).second) << keys.size();
  }
  EXPECT_EQ(computation_key(spec()), computation_key(spec()));
}

// Pages that were kept on disk are found again: the size of values is part of the key only where it says something.
TEST(ComputationKey, IsTheSameWhetherTheSizeOfValuesIsSaidOrNot) {
  ModelSpec said = spec();
  for (LayerSpec& layer : said.layers) layer.get<AttentionParams>().value_dim = 20;
  EXPECT_EQ(computation_key(said), computation_key(spec()));
}

// Two heads of 20 and four of 10, padded to 32 and to 16: pages of one size.
TEST(ComputationKey, TellsApartFewLargeHeadsAndManySmallOnesInPagesOfOneSize) {
  ModelSpec many = spec();
  for (LayerSpec& layer : many.layers) {
    auto& a = layer.get<AttentionParams>();
    a.heads = a.kv_heads = 4, a.head_dim = 10;
  }
  const auto backend = backend::make_test_backend(1);
  const auto page = [&](const ModelSpec& s) { return kv::group_layers(kv_needs(s), {}).page_bytes(*backend); };
  EXPECT_EQ(page(spec()), page(many));
  EXPECT_NE(computation_key(spec()), computation_key(many));
}

}  // namespace
}  // namespace millrace::model

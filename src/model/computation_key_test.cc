#include "model/computation_key.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "backend/testing/test_backend.h"
#include "model/block.h"
#include "model/blocks/attention.h"
#include "model/blocks/experts.h"
#include "model/blocks/linear.h"
#include "model/blocks/mlp.h"

namespace millrace::model {
namespace {

ModelSpec spec() {
  ModelSpec spec;
  spec.family = "llama";
  spec.hidden_size = spec.vocab_size = 40;
  spec.ropes = {{.dim = 20}};
  spec.layers.assign(2, {.blocks = {AttentionParams{.heads = 2, .kv_heads = 2, .head_dim = 20, .scale = 0.2f},
                                    MlpParams{.width = 64}}});
  return spec;
}

TEST(ComputationKey, TellsApartWhateverAConfigurationChanges) {
  const std::vector<std::function<void(ModelSpec&)>> changes = {
      [](ModelSpec&) {},
      [](ModelSpec& s) { s.family = "mistral"; },
      [](ModelSpec& s) { s.context_length = 64; },
      [](ModelSpec& s) { s.final_norm.kind = backend::NormKind::kLayer; },
      [](ModelSpec& s) { s.final_norm.eps = 1e-6f; },
      [](ModelSpec& s) { s.final_norm.offset = 1.0f; },
      [](ModelSpec& s) { s.positions = PositionKind::kLearned; },
      [](ModelSpec& s) { s.position_offset = 2; },
      [](ModelSpec& s) { s.embedding_size = 20; },
      [](ModelSpec& s) { s.embedding_scale = 6.0f; },
      [](ModelSpec& s) { s.names.embedding_norm = "norm"; },
      [](ModelSpec& s) { s.unit_head = true; },
      [](ModelSpec& s) { s.logit_scale = 0.5f; },
      [](ModelSpec& s) { s.logit_softcap = 30.0f; },
      [](ModelSpec& s) { s.query_scale = {.factor = 0.1, .period = 8192.0}; },
      [](ModelSpec& s) { s.ropes[0].theta = 1e6; },
      [](ModelSpec& s) { s.ropes[0].dim = 10; },
      [](ModelSpec& s) { s.ropes[0].reversed = true; },
      [](ModelSpec& s) { s.ropes.push_back(s.ropes[0]); },
      [](ModelSpec& s) { s.ropes[0].scaling.kind = RopeScaling::Kind::kLinear; },
      [](ModelSpec& s) { s.ropes[0].scaling.factor = 2.0; },
      [](ModelSpec& s) { s.ropes[0].scaling.alpha = 2.0; },
      [](ModelSpec& s) { s.ropes[0].scaling.original_context = 32; },
      [](ModelSpec& s) { s.ropes[0].scaling.attention_factor = 1.0; },
      [](ModelSpec& s) { s.ropes[0].scaling.truncate = false; },
      [](ModelSpec& s) { s.ropes[0].scaling.short_factors = {2.0}; },
      [](ModelSpec& s) { s.ropes[0].scaling.long_factors = {2.0}; },
      [](ModelSpec& s) { s.ropes[0].scaling.short_magnitude = 2.0; },
      [](ModelSpec& s) { s.ropes[0].scaling.long_magnitude = 2.0; },
      [](ModelSpec& s) { s.layers[1].residual = ResidualForm::kParallel; },
      [](ModelSpec& s) { s.layers[1].weights_of = 0; },
      [](ModelSpec& s) { s.layers[1].blocks[0].output.scale = 0.5f; },
      [](ModelSpec& s) { s.layers[1].blocks[0].output.replaces = true; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = LinearParams{.size = 40, .norm_name = "norm"}; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = LinearParams{.size = 40}; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = LinearParams{.size = 40, .activation = backend::Activation::kGelu}; },
      [](ModelSpec& s) { s.layers[1].blocks[0].output.norm_name = "norm"; },
      [](ModelSpec& s) { s.layers[1].blocks[0].output.sum_norm_name = "norm"; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().norm.eps = 1e-6f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().rotary_pairs = true; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().heads_by_turns = true; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().rope = -1; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().scales_query = true; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().softcap = 50.0f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().clip = 8.0f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().alibi = 1.0f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().alibi_max = 16.0f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().sinks = true; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().chunk = 64; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().gate = OutputGate::kHeads; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().gate = OutputGate::kChannels; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().gate_function = backend::GateFunction::kSoftplus; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().value_scale = 0.5f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().names.sub_norm = "norm"; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().fused = FusedQkv::kGrouped; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().heads = 4; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().kv_heads = 1; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().head_dim = 18; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().value_dim = 18; },
      [](ModelSpec& s) { s.layers[0].get<AttentionParams>().value_dim = 18; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().q_k_norm = HeadNormParams{}; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().q_k_norm = HeadNormParams{.over_row = true}; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().q_k_norm = HeadNormParams{.own_weights = true}; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().q_k_norm = HeadNormParams{.after_rotation = true}; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().q_k_norm = HeadNormParams{.query_factor = 2.0f}; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().scale = 0.3f; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().window = 8; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().width = 62; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().gated = false; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().activation = backend::Activation::kGelu; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().parameters.beta = 0.5f; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().norm.offset = 1.0f; },
      [](ModelSpec& s) { s.layers[1].get<MlpParams>().names.sub_norm = "norm"; },
      [](ModelSpec& s) { s.layers[1].get<AttentionParams>().input_width = 80; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = ExpertsParams{}; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = ExpertsParams{.router_softcap = 30.0f}; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = ExpertsParams{.scale_inputs = true}; },
      [](ModelSpec& s) { s.layers[1].blocks[1] = ExpertsParams{.routing = {.router = "sigmoid"}}; },
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

#include "model/family_catalogue.h"

#include <algorithm>

#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/config/rope_config.h"
#include "model/config/window_config.h"
#include "model/synth/synth_shape.h"

namespace millrace::model {
namespace {

// Dimensions at which every family's optional parts show.
ModelConfig sample_config(const ModelFamily& family) {
  ModelConfig config;
  config.vocab_size = 96;
  config.hidden_size = 64;
  config.intermediate_size = 128;
  config.n_layers = 12;
  config.n_heads = 8;
  config.n_kv_heads = 2;
  config.head_dim = config.value_dim = config.rope.dim = 8;
  config.context_length = 64;
  config.activation = family.defaults.activation;
  config.tie_word_embeddings = family.defaults.tied_head;
  return config;
}

class Traits {
 public:
  void add(bool is, std::string text) {
    if (is && std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
  }
  std::vector<std::string> all;
};

std::string norm_name(const NormSpec& norm) {
  const std::string kind = norm.kind == backend::NormKind::kRms ? "RMSNorm" : "LayerNorm";
  return kind + (!norm.weight ? " without weights" : norm.offset != 0.0f ? " of 1 + weight" : "");
}

std::string activation_name(const MlpParams& mlp) {
  constexpr std::string_view kNames[] = {"SiLU", "GELU", "GELU", "ReLU", "squared ReLU", "quick GELU", "xIELU"};
  return std::string(mlp.gated ? "gated " : "") + std::string(kNames[static_cast<std::size_t>(mlp.activation)]);
}

void add_output(const BlockSpec& block, bool normed_input, Traits& traits) {
  const BlockOutput& output = block.output;
  traits.add(output.has_norm() && normed_input, "norms on both sides of blocks");
  traits.add(output.has_norm() && !normed_input, "norms behind blocks");
  traits.add(output.has_sum_norm(), "norms behind the residual");
  traits.add(output.scale != 1.0f, "scaled residual");
}

void add_attention(const AttentionParams& a, const ModelSpec& spec, Traits& traits) {
  if (a.rope >= 0) {
    const RopeConfig& rope = spec.ropes[static_cast<std::size_t>(a.rope)];
    traits.add(true, rope.dim < a.head_dim ? "partial rotation" : "rotation");
  }
  traits.add(a.rope < 0 && !spec.ropes.empty(), "layers without rotation");
  traits.add(a.alibi != 0.0f, "ALiBi");
  traits.add(a.q_k_norm && !a.q_k_norm->over_row, "norms of heads");
  traits.add(a.q_k_norm && a.q_k_norm->over_row, "norms of all queries and keys");
  traits.add(a.window > 0, "windows");
  traits.add(a.softcap != 0.0f, "capped scores");
  traits.add(a.clip != 0.0f, "clipped queries, keys and values");
  traits.add(a.chunk > 0, "chunks");
  traits.add(a.value_scale != 1.0f, "scaled values");
  traits.add(a.sinks, "sinks");
  traits.add(a.scales_query, "queries scaled by position");
  traits.add(a.gate != OutputGate::kNone, "output gate");
  traits.add(!a.names.sub_norm.empty(), "norms in front of output products");
}

}  // namespace

std::vector<std::string> traits_of(const ModelSpec& spec) {
  Traits traits;
  for (const LayerSpec& layer : spec.layers) {
    for (BlockSpec block : layer.blocks) {
      if (const auto* a = block.find<AttentionParams>()) {
        traits.add(!a->names.norm.empty(), norm_name(a->norm));
        add_output(block, !a->names.norm.empty(), traits);
        add_attention(*a, spec, traits);
      } else if (const auto* m = block.find<MlpParams>()) {
        traits.add(true, activation_name(*m));
        add_output(block, !m->names.norm.empty(), traits);
      } else {
        traits.add(true, std::string(block.kind()));
      }
    }
    traits.add(layer.residual == ResidualForm::kParallel, "attention and MLP in parallel");
  }
  traits.add(spec.positions == PositionKind::kLearned, "learned positions");
  traits.add(spec.positions == PositionKind::kSinusoidal, "sinusoidal positions");
  traits.add(spec.embedding_scale != 1.0f, "scaled embeddings");
  traits.add(!spec.names.embedding_norm.empty(), "normed embeddings");
  traits.add(spec.unit_head, "normed head");
  traits.add(spec.logit_scale != 1.0f, "scaled logits");
  traits.add(spec.logit_softcap != 0.0f, "capped logits");
  return traits.all;
}

std::vector<CatalogueEntry> family_catalogue() {
  std::vector<CatalogueEntry> entries;
  for (const ModelFamily& family : all_families()) {
    CatalogueEntry entry{.family = &family, .traits = {}, .shapes = {}, .measured = {}};
    checkpoint::ConfigFile nothing;
    nothing.gguf = family.hf.empty();
    checkpoint::ConfigView view(nothing, family.defaults.json);
    ModelConfig config = sample_config(family);
    if (family.defaults.rotary && !nothing.gguf) read_rope(view, config);
    read_window(view, {.used = family.defaults.windows, .period = family.defaults.window_period}, config);
    entry.traits = traits_of(family.spec(view, config));
    for (const SynthShape& shape : synth_shapes()) {
      if (shape.family != family.name || shape.like.empty()) continue;
      entry.shapes.push_back(shape.name);
      if (!shape.measured.empty()) entry.measured.push_back(shape.name);
    }
    entries.push_back(std::move(entry));
  }
  std::ranges::sort(entries, {}, [](const CatalogueEntry& entry) { return entry.family->name; });
  return entries;
}

}  // namespace millrace::model

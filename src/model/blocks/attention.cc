#include "model/blocks/attention.h"

#include "model/block_loader.h"

namespace millrace::model {

AttentionNames gguf_attention_names() {
  return {.norm = "blk.{}.attn_norm",
          .q = "blk.{}.attn_q",
          .k = "blk.{}.attn_k",
          .v = "blk.{}.attn_v",
          .qkv = "blk.{}.attn_qkv",
          .o = "blk.{}.attn_output",
          .q_norm = "blk.{}.attn_q_norm",
          .k_norm = "blk.{}.attn_k_norm"};
}

AttentionNames llama_attention_names(const std::string& layer) {
  return {.norm = layer + "input_layernorm",
          .q = layer + "self_attn.q_proj",
          .k = layer + "self_attn.k_proj",
          .v = layer + "self_attn.v_proj",
          .qkv = "",
          .o = layer + "self_attn.o_proj",
          .q_norm = layer + "self_attn.q_norm",
          .k_norm = layer + "self_attn.k_norm"};
}

namespace blocks {
namespace {

const AttentionParams& params_of(const BlockSpec& block) { return block.as<AttentionParams>(); }

std::int64_t input_width(const AttentionParams& a, const ModelSpec& spec) {
  return a.input_width > 0 ? a.input_width : spec.hidden_size;
}

std::vector<BlockWeight> qkv_weights(const AttentionParams& a, const ModelSpec& spec, const HasTensor& has) {
  const std::int64_t inputs = input_width(a, spec);
  if (!a.names.qkv.empty() && has(a.names.qkv)) {
    return {{.role = "attn_qkv", .name = a.names.qkv, .rows = a.qkv_size(), .cols = inputs}};
  }
  return {{.role = "attn_q", .name = a.names.q, .rows = a.q_size(), .cols = inputs, .rotated_head = a.head_dim},
          {.role = "attn_k", .name = a.names.k, .rows = a.k_size(), .cols = inputs, .rotated_head = a.head_dim},
          {.role = "attn_v", .name = a.names.v, .rows = a.v_size(), .cols = inputs}};
}

BlockWeight o_weight(const AttentionParams& a, const ModelSpec& spec) {
  return {
      .role = "attn_output", .name = a.names.o, .rows = spec.hidden_size, .cols = a.output_size(), .to_residual = true};
}

class Attention final : public Block {
 public:
  Attention(const AttentionParams& params, BlockLoader& loader)
      : params_(params),
        kind_(loader.spec().norm),
        eps_(loader.spec().norm_eps),
        norm_(loader.norm(params.names.norm)) {
    const auto has = [&](const std::string& pattern) { return loader.has(pattern); };
    qkv_ = loader.product(qkv_weights(params_, loader.spec(), has));
    o_ = loader.product(o_weight(params_, loader.spec()));
    if (!params_.q_k_norm) return;
    q_norm_.weight = loader.vector(params_.names.q_norm, params_.head_dim);
    k_norm_.weight = loader.vector(params_.names.k_norm, params_.head_dim);
  }

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages& pages) const override {
    const AttentionParams& a = params_;
    RowSpace space = rows.space;
    const backend::DeviceView qkv = space.take(a.qkv_size()), attended = space.take(a.output_size());
    backend::AttentionInputs inputs;
    inputs.norm = norm_.view(kind_, eps_);
    inputs.qkv = qkv_.weight.get();
    inputs.bias = qkv_.bias.address();
    inputs.heads = a.heads;
    if (a.q_k_norm) {
      inputs.q_norm = q_norm_.view(backend::NormKind::kRms, eps_);
      inputs.k_norm = k_norm_.view(backend::NormKind::kRms, eps_);
    }
    inputs.cos_sin = rows.cos_sin;
    inputs.sequences = rows.sequences;
    inputs.kv = pages;
    backend.project_attention(inputs, a.input_width > 0 ? rows.input : rows.residual, qkv);
    backend.attend({qkv.columns(0, a.q_size()), rows.sequences, pages, a.heads, a.scale, a.window}, attended);
    backend.linear(*o_.weight, {.bias = o_.bias.address(), .accumulate = true}, attended, rows.residual);
  }

  std::vector<backend::Linear*> linears() const override { return {qkv_.weight.get(), o_.weight.get()}; }

 private:
  AttentionParams params_;
  backend::NormKind kind_;
  float eps_;
  NormWeights norm_, q_norm_, k_norm_;
  Product qkv_, o_;
};

Result<void> check(const BlockSpec& block, const ModelSpec& spec, const backend::Limits& limits) {
  const AttentionParams& a = params_of(block);
  const bool rotated = spec.positions == PositionKind::kRope;
  const auto fails = [](std::int64_t dim, std::int64_t most) { return dim < 1 || (most > 0 && dim > most); };
  const auto to = [](std::int64_t most) { return most > 0 ? fmt::format(" to {}", most) : std::string(); };
  if (fails(a.head_dim, limits.max_key_dim) || (rotated && a.head_dim % 2 != 0)) {
    const std::string_view from = rotated ? "an even number, as positions are rotary, from 2" : "from 1";
    return unsupported_dimension("head_dim", a.head_dim, fmt::format("{}{}", from, to(limits.max_key_dim)));
  }
  if (fails(a.value_head_dim(), limits.max_value_dim)) {
    return unsupported_dimension("value_dim", a.value_head_dim(), "from 1" + to(limits.max_value_dim));
  }
  if (a.output_size() % 2 != 0) {  // what the output product takes
    const std::string_view dim = a.value_head_dim() == a.head_dim ? "head_dim" : "value_dim";
    return unsupported_dimension(fmt::format("n_heads * {}", dim), a.output_size(), "even");
  }
  if (rotated && (spec.rope_dim % 2 != 0 || spec.rope_dim > a.head_dim)) {
    return unsupported_dimension("rope_dim", spec.rope_dim, fmt::format("even and at most head_dim, {}", a.head_dim));
  }
  if (a.heads % a.kv_heads != 0) return unsupported_dimension("n_heads", a.heads, "a multiple of the key/value heads");
  if (limits.max_group > 0 && a.heads / a.kv_heads > limits.max_group) {
    return unsupported_dimension("n_heads", a.heads, fmt::format("at most {} a key/value head", limits.max_group));
  }
  return {};
}

std::string key(const BlockSpec& block) {
  const AttentionParams& a = params_of(block);
  std::string text = fmt::format("{} {} {} {} {} {}", a.heads, a.kv_heads, a.head_dim, a.q_k_norm, a.scale, a.window);
  if (a.input_width > 0) text += fmt::format(" input {}", a.input_width);
  if (a.value_head_dim() != a.head_dim) text += fmt::format(" values {}", a.value_head_dim());
  return text;
}

std::optional<kv::KvNeed> kv(const BlockSpec& block) {
  const AttentionParams& a = params_of(block);
  return kv::KvNeed{.kv_heads = a.kv_heads, .key_dim = a.head_dim, .value_dim = a.value_head_dim(), .window = a.window};
}

BlockWorkspace workspace(const BlockSpec& block) {
  const AttentionParams& a = params_of(block);
  return {.columns = {a.qkv_size(), a.output_size()}};
}

BlockWork work(const BlockSpec& block, const ModelSpec& spec) {
  const AttentionParams& a = params_of(block);
  const auto qkv = static_cast<double>(a.qkv_size()), attended = static_cast<double>(a.output_size());
  const auto inputs = static_cast<double>(input_width(a, spec)), outputs = static_cast<double>(spec.hidden_size);
  // A key takes a product with the query, and one of its weight with the value.
  return {.operations = 2.0 * (inputs * qkv + attended * outputs),
          .operations_per_key = 2.0 * (static_cast<double>(a.q_size()) + attended)};
}

std::vector<BlockWeight> weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has) {
  const AttentionParams& a = params_of(block);
  std::vector<BlockWeight> all;
  if (!a.names.norm.empty()) {
    all.push_back({.role = "attn_norm", .name = a.names.norm, .rows = spec.hidden_size});
  }
  for (BlockWeight& weight : qkv_weights(a, spec, has)) all.push_back(std::move(weight));
  if (a.q_k_norm) {
    all.push_back({.role = "attn_q_norm", .name = a.names.q_norm, .rows = a.head_dim});
    all.push_back({.role = "attn_k_norm", .name = a.names.k_norm, .rows = a.head_dim});
  }
  all.push_back(o_weight(a, spec));
  return all;
}

std::unique_ptr<Block> load(const BlockSpec& block, BlockLoader& loader) {
  return std::make_unique<Attention>(params_of(block), loader);
}

}  // namespace

BlockKind attention() {
  return {.name = AttentionParams::kKind,
          .check = check,
          .key = key,
          .kv = kv,
          .workspace = workspace,
          .work = work,
          .weights = weights,
          .load = load};
}

}  // namespace blocks
}  // namespace millrace::model

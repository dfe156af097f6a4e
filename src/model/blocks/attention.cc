#include "model/blocks/attention.h"

#include <algorithm>
#include <cmath>

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
          .k_norm = "blk.{}.attn_k_norm",
          .gate = "blk.{}.attn_gate",
          .sub_norm = "",
          .sinks = "blk.{}.attn_sinks.weight"};
}

AttentionNames llama_attention_names(const std::string& layer) {
  return {.norm = layer + "input_layernorm",
          .q = layer + "self_attn.q_proj",
          .k = layer + "self_attn.k_proj",
          .v = layer + "self_attn.v_proj",
          .qkv = layer + "self_attn.qkv_proj",
          .o = layer + "self_attn.o_proj",
          .q_norm = layer + "self_attn.q_norm",
          .k_norm = layer + "self_attn.k_norm",
          .gate = layer + "self_attn.gate_proj",
          .sub_norm = "",
          .sinks = layer + "self_attn.sinks"};
}

namespace blocks {
namespace {

const AttentionParams& params_of(const BlockSpec& block) { return block.as<AttentionParams>(); }

std::int64_t input_width(const AttentionParams& a, const ModelSpec& spec) {
  return a.input_width > 0 ? a.input_width : spec.hidden_size;
}

std::int64_t rotated_dims(const AttentionParams& a, const ModelSpec& spec) {
  return a.rope < 0 ? 0 : spec.ropes[static_cast<std::size_t>(a.rope)].dim;
}

// Rows of Q, K or V in the fused tensor: number `part` of the three, of `rows` rows in all.
RowSlice fused_slice(const AttentionParams& a, int part, std::int64_t rows) {
  const std::int64_t groups = std::max<std::int64_t>(1, a.kv_heads);  // 0 is an error that check() names
  const std::int64_t group = a.heads / groups * a.head_dim, key = a.head_dim, value = a.value_head_dim();
  const std::int64_t sizes[] = {a.q_size(), a.k_size(), a.v_size()};
  const std::int64_t firsts[] = {0, a.q_size(), a.q_size() + a.k_size()};
  const std::int64_t in_group[] = {0, group, group + key}, runs[] = {group, key, value};
  switch (a.fused) {
    case FusedQkv::kStacked: return {firsts[part], sizes[part], sizes[part], a.qkv_size()};
    case FusedQkv::kGrouped: return {in_group[part], runs[part], group + key + value, a.qkv_size()};
    case FusedQkv::kQuarters: break;
  }
  constexpr std::int64_t kPlaces[] = {0, 2, 1};  // Q, V, K
  return {kPlaces[part] * rows / 4, rows / 4, 3 * rows / 4, a.qkv_size()};
}

std::vector<BlockWeight> qkv_weights(const AttentionParams& a, const ModelSpec& spec, const HasTensor& has) {
  const std::int64_t inputs = input_width(a, spec);
  std::vector<BlockWeight> weights = {
      {.role = "attn_q", .name = a.names.q, .rows = a.q_size(), .cols = inputs, .axis = RowAxis::kQueryHeads},
      {.role = "attn_k", .name = a.names.k, .rows = a.k_size(), .cols = inputs, .axis = RowAxis::kKeyHeads},
      {.role = "attn_v", .name = a.names.v, .rows = a.v_size(), .cols = inputs, .axis = RowAxis::kKeyHeads},
  };
  weights[0].axis_rows = weights[1].axis_rows = a.head_dim;
  weights[2].axis_rows = a.value_head_dim();
  weights[1].axis_group = weights[2].axis_group = a.heads / std::max<std::int64_t>(1, a.kv_heads);
  for (BlockWeight& weight : weights) weight.every_rank = a.q_k_norm && a.q_k_norm->over_row;
  if (a.rotary_pairs && a.rope >= 0) {
    for (int part = 0; part < 2; ++part) {
      weights[static_cast<std::size_t>(part)].rotated_head = a.head_dim;
      weights[static_cast<std::size_t>(part)].rotated = rotated_dims(a, spec);
    }
  }
  if (a.heads_by_turns) weights[0].row_turns = {a.head_dim, a.kv_heads};
  if (!a.names.kv.empty() && has(a.names.kv)) {
    weights[1].name = weights[2].name = a.names.kv;
    weights[1].slice = {0, a.k_size(), a.k_size(), a.k_size() + a.v_size()};
    weights[2].slice = {a.k_size(), a.v_size(), a.v_size(), a.k_size() + a.v_size()};
  }
  if (a.names.qkv.empty() || !has(a.names.qkv)) return weights;
  for (int part = 0; part < 3; ++part) {
    BlockWeight& weight = weights[static_cast<std::size_t>(part)];
    weight.name = a.names.qkv;
    weight.slice = fused_slice(a, part, weight.rows);
  }
  return weights;
}

BlockWeight o_weight(const AttentionParams& a, const ModelSpec& spec) {
  BlockWeight weight{.role = "attn_output",
                     .name = a.names.o,
                     .rows = spec.hidden_size,
                     .cols = a.output_size(),
                     .axis = RowAxis::kResidual};
  if (a.heads_by_turns) weight.column_turns = {a.value_head_dim(), a.kv_heads};
  return weight;
}

BlockWeight gate_weight(const AttentionParams& a, const ModelSpec& spec) {
  return {.role = "attn_gate",
          .name = a.names.gate,
          .rows = a.gate_size(),
          .cols = input_width(a, spec),
          .axis = RowAxis::kQueryHeads,
          .axis_rows = a.gate == OutputGate::kHeads ? 1 : a.value_head_dim()};
}

// The weights of a norm of heads, in the order of the rows of the heads.
BlockWeight head_norm_weight(const AttentionParams& a, const ModelSpec& spec, bool of_queries) {
  const bool all = a.q_k_norm->over_row || a.q_k_norm->own_weights;
  const std::int64_t rows = !all ? a.head_dim : of_queries ? a.q_size() : a.k_size();
  BlockWeight weight = norm_weight(of_queries ? "attn_q_norm" : "attn_k_norm",
                                   of_queries ? a.names.q_norm : a.names.k_norm, rows, a.q_k_norm->norm);
  weight.head_rows = a.head_dim;
  if (a.q_k_norm->own_weights) {
    weight.axis = of_queries ? RowAxis::kQueryHeads : RowAxis::kKeyHeads;
    weight.axis_rows = a.head_dim;
    weight.axis_group = a.heads / std::max<std::int64_t>(1, a.kv_heads);
    weight.every_rank = a.q_k_norm->over_row;
  }
  if (a.rotary_pairs && a.rope >= 0) {
    weight.rotated_head = a.head_dim;
    weight.rotated = rotated_dims(a, spec);
  }
  return weight;
}

// 2^(-k * alibi_max / n) for n, the next power of two: those of even k, then those of odd k where heads are fewer.
std::vector<float> alibi_slopes(const AttentionParams& a) {
  std::int64_t n = 1;
  while (n < a.heads) n *= 2;
  std::vector<float> slopes;
  const auto slope = [&](std::int64_t k) {
    const double exponent = static_cast<double>(k) * static_cast<double>(a.alibi_max) / static_cast<double>(n);
    slopes.push_back(a.alibi * static_cast<float>(std::exp2(-exponent)));
  };
  if (n == a.heads) {
    for (std::int64_t k = 1; k <= n; ++k) slope(k);
    return slopes;
  }
  for (std::int64_t k = 2; k <= n; k += 2) slope(k);
  for (std::int64_t k = 1; std::ssize(slopes) < a.heads; k += 2) slope(k);
  return slopes;
}

// Whole names of the scales of keys and values in a KV cache of fp8, where checkpoints have them: beside the
// projections or within one.
std::string kv_scale_name(const std::string& projection, std::string_view part, const HasTensor& has) {
  const std::string scale = std::string(part) + "_scale", within = projection + "." + scale;
  const std::string beside = projection.substr(0, projection.rfind('.') + 1) + scale;
  return has(within) ? within : has(beside) ? beside : std::string();
}

// The outputs of the query heads, `width` values each.
BlockWeight of_query_heads(const AttentionParams& a, std::int64_t width) {
  return {.role = "", .name = "", .rows = a.heads * width, .axis = RowAxis::kQueryHeads, .axis_rows = width};
}

// What a rank has of the heads of a layer.
struct OwnHeads {
  std::int64_t first = 0, heads = 0;  // query heads whose attention it computes
  std::int64_t projected = 0;         // query heads that it projects, `skipped` of them in front of these
  std::int64_t skipped = 0;
  std::int64_t before = 0;  // query heads of its first key head, before those that it projects
  std::int64_t group = 0;   // query heads of a whole group
  std::int64_t kv_heads = 0;
};

OwnHeads own_heads(const AttentionParams& a, std::span<const BlockWeight> qkv, const BlockLoader& loader) {
  const RowRange attended = loader.rows(of_query_heads(a, 1)), queries = loader.rows(qkv[0]),
                 keys = loader.rows(qkv[1]);
  const std::int64_t group = a.heads / a.kv_heads, first_query = queries.first / a.head_dim;
  return {.first = attended.first,
          .heads = attended.size(),
          .projected = queries.size() / a.head_dim,
          .skipped = attended.first - first_query,
          .before = first_query - keys.first / a.head_dim * group,
          .group = group,
          .kv_heads = keys.size() / a.head_dim};
}

class Attention final : public Block {
 public:
  Attention(const AttentionParams& params, BlockLoader& loader)
      : params_(params), norm_(loader.norm(params.names.norm, params.norm, input_width(params, loader.spec()))) {
    const ModelSpec& spec = loader.spec();
    const auto has = [&](const std::string& pattern) { return loader.has(pattern); };
    const std::vector<BlockWeight> qkv = qkv_weights(params_, spec, has);
    qkv_ = loader.product(qkv);
    own_ = own_heads(params_, qkv, loader);
    attended_ = loader.columns(of_query_heads(params_, params_.value_head_dim()));
    output_ = loader.columns(o_weight(params_, spec));
    if (params_.gate != OutputGate::kNone) gate_ = loader.product(gate_weight(params_, spec));
    sub_norm_ = loader.norm(params_.names.sub_norm, params_.sub_norm, params_.output_size());
    o_ = loader.product(o_weight(params_, spec));
    const auto of_own_heads = [&](const std::vector<float>& all) {
      return loader.backend().make_vector(
          std::span(all).subspan(static_cast<std::size_t>(own_.first), static_cast<std::size_t>(own_.heads)));
    };
    if (params_.sinks) sinks_ = of_own_heads(loader.values(params_.names.sinks, params_.heads));
    const auto scale = [&](const std::string& tensor) { return tensor.empty() ? 0.0f : loader.values(tensor, 1)[0]; };
    key_scale_ = scale(kv_scale_name(params_.names.k, "k", has));
    value_scale_ = scale(kv_scale_name(params_.names.v, "v", has));
    if (params_.alibi != 0.0f) slopes_ = of_own_heads(alibi_slopes(params_));
    if (!params_.q_k_norm) return;
    q_norm_ =
        loader.head_norm(params_.q_k_norm->norm, head_norm_weight(params_, spec, true), params_.q_k_norm->query_factor);
    k_norm_ = loader.head_norm(params_.q_k_norm->norm, head_norm_weight(params_, spec, false), 1.0f);
  }

  void run(backend::Backend& backend, const BlockRows& rows, const backend::KvPages& of_layer) const override {
    const AttentionParams& a = params_;
    backend::KvPages pages = of_layer;
    pages.format.key_scale = key_scale_;
    pages.format.value_scale = value_scale_;
    RowSpace space = rows.space;
    const backend::DeviceView qkv = space.take(qkv_.weight->n()), all_attended = space.take(a.output_size());
    const backend::DeviceView attended = attended_.own(all_attended);
    const backend::DeviceView& x = a.input_width > 0 ? rows.input : rows.residual;
    project(backend, rows, pages, x, qkv);
    backend.attend({.q = qkv.columns(own_.skipped * a.head_dim, own_.heads * a.head_dim),
                    .sequences = rows.sequences,
                    .kv = pages,
                    .heads = own_.heads,
                    .groups = {.size = own_.group, .skipped = own_.before + own_.skipped},
                    .scale = a.scale,
                    .window = a.window,
                    .chunk = a.chunk,
                    .softcap = a.softcap,
                    .alibi = slopes_.address(),
                    .sinks = sinks_.address()},
                   attended);
    if (a.value_scale != 1.0f) backend.scale({.factor = a.value_scale}, attended);
    if (a.gate != OutputGate::kNone) {
      const backend::DeviceView gate = space.take(gate_.weight->n());
      backend.linear(*gate_.weight,
                     {.norm = norm_.view(), .bias = gate_.bias.address(), .adapters = rows.adapters_of(gate_)}, x,
                     gate);
      backend.gate(a.gate_function, gate, attended);
    }
    backend.linear(*o_.weight,
                   {.norm = sub_norm_.view(),
                    .bias = o_.bias.address(),
                    .accumulate = rows.accumulate,
                    .adapters = rows.adapters_of(o_),
                    .exchanged = attended_.exchanged()},
                   all_attended, output_.own(rows.output));
    output_.exchange(backend, rows.output);
  }

  std::vector<const Product*> products() const override {
    std::vector<const Product*> all = {&qkv_, &o_};
    if (gate_.weight) all.push_back(&gate_);
    return all;
  }

 private:
  void project(backend::Backend& backend, const BlockRows& rows, const backend::KvPages& pages,
               const backend::DeviceView& x, const backend::DeviceView& qkv) const {
    const AttentionParams& a = params_;
    backend::AttentionInputs inputs;
    inputs.norm = norm_.view();
    inputs.qkv = qkv_.weight.get();
    inputs.bias = qkv_.bias.address();
    inputs.heads = own_.projected;
    inputs.groups = {.size = own_.group, .skipped = own_.before};
    inputs.clip = a.clip;
    if (a.q_k_norm) {
      inputs.q_norm = head_norm(q_norm_);
      inputs.k_norm = head_norm(k_norm_);
    }
    if (a.rope >= 0) inputs.cos_sin = rows.cos_sin[static_cast<std::size_t>(a.rope)];
    if (a.scales_query) inputs.query_scale = rows.query_scale;
    inputs.sequences = rows.sequences;
    inputs.kv = pages;
    inputs.adapters = rows.adapters_of(qkv_);
    backend.project_attention(inputs, x, qkv);
  }
  backend::HeadNorm head_norm(const NormWeights& norm) const {
    using Over = backend::HeadNorm::Over;
    return {.norm = norm.view(),
            .over = params_.q_k_norm->over_row ? Over::kRow : Over::kHead,
            .weight_stride = params_.q_k_norm->own_weights ? params_.head_dim : 0,
            .after_rotation = params_.q_k_norm->after_rotation};
  }

  AttentionParams params_;
  NormWeights norm_, q_norm_, k_norm_, sub_norm_;
  Product qkv_, gate_, o_;
  OwnHeads own_;
  RankColumns attended_, output_;  // of the heads' outputs, and of the block's
  backend::DeviceVector sinks_, slopes_;
  float key_scale_ = 0.0f, value_scale_ = 0.0f;  // 0: the checkpoint has none
};

Result<void> check(const BlockSpec& block, const ModelSpec& spec, const backend::Limits& limits) {
  const AttentionParams& a = params_of(block);
  const std::int64_t rotated = rotated_dims(a, spec);
  const auto fails = [](std::int64_t dim, std::int64_t most) { return dim < 1 || (most > 0 && dim > most); };
  const auto to = [](std::int64_t most) { return most > 0 ? fmt::format(" to {}", most) : std::string(); };
  const bool all_rotated = a.rope >= 0 && rotated == a.head_dim;
  if (fails(a.head_dim, limits.max_key_dim) || (all_rotated && rotated % 2 != 0)) {
    const std::string_view from = all_rotated ? "an even number, as positions are rotary, from 2" : "from 1";
    return unsupported_dimension("head_dim", a.head_dim, fmt::format("{}{}", from, to(limits.max_key_dim)));
  }
  if (fails(a.value_head_dim(), limits.max_value_dim)) {
    return unsupported_dimension("value_dim", a.value_head_dim(), "from 1" + to(limits.max_value_dim));
  }
  if (a.output_size() % 2 != 0) {  // what the output product takes
    const std::string_view dim = a.value_head_dim() == a.head_dim ? "head_dim" : "value_dim";
    return unsupported_dimension(fmt::format("n_heads * {}", dim), a.output_size(), "even");
  }
  if (rotated % 2 != 0 || rotated > a.head_dim) {
    return unsupported_dimension("rope_dim", rotated, fmt::format("even and at most head_dim, {}", a.head_dim));
  }
  if (a.heads < 1 || a.kv_heads < 1 || a.heads % a.kv_heads != 0) {
    return unsupported_dimension("n_heads", a.heads, "1 or more, and a multiple of the key/value heads");
  }
  if (a.fused == FusedQkv::kQuarters && (a.heads % 4 != 0 || a.heads != a.kv_heads)) {
    return unsupported_dimension("n_heads", a.heads, "a multiple of 4 and the number of key/value heads");
  }
  if (limits.max_group > 0 && a.heads / a.kv_heads > limits.max_group) {
    return unsupported_dimension("n_heads", a.heads, fmt::format("at most {} a key/value head", limits.max_group));
  }
  return {};
}

std::string key_of(const HeadNormParams& norm) {
  return fmt::format(" heads {} {} {} {} {}", key_of(norm.norm), norm.over_row, norm.own_weights, norm.after_rotation,
                     norm.query_factor);
}

std::string key(const BlockSpec& block) {
  const AttentionParams& a = params_of(block);
  std::string text =
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {} {}", a.heads, a.kv_heads, a.head_dim,
                  a.value_head_dim(), key_of(a.norm), a.scale, a.window, a.chunk, a.rope, a.rotary_pairs,
                  a.scales_query, a.softcap, a.clip, a.alibi, a.alibi_max, a.sinks, static_cast<int>(a.gate));
  text += fmt::format(" {} {} {}", static_cast<int>(a.fused), a.names.norm.empty(), a.input_width);
  if (a.q_k_norm) text += key_of(*a.q_k_norm);
  if (!a.names.sub_norm.empty()) text += " sub " + key_of(a.sub_norm);
  if (a.heads_by_turns) text += " by turns";
  if (a.value_scale != 1.0f) text += fmt::format(" values {}", a.value_scale);
  if (a.gate_function == backend::GateFunction::kSoftplus) text += " softplus";
  return text;
}

// Tokens that a token sees at most, itself included; 0 = all. Of a chunk it sees no more than the chunk has.
std::int64_t lookback(const AttentionParams& a) {
  return a.window > 0 && a.chunk > 0 ? std::min(a.window, a.chunk) : std::max(a.window, a.chunk);
}

std::optional<kv::KvNeed> kv(const BlockSpec& block) {
  const AttentionParams& a = params_of(block);
  return kv::KvNeed{
      .kv_heads = a.kv_heads, .key_dim = a.head_dim, .value_dim = a.value_head_dim(), .window = lookback(a)};
}

BlockWorkspace workspace(const BlockSpec& block, const ModelSpec&) {
  const AttentionParams& a = params_of(block);
  BlockWorkspace needed{.columns = {a.qkv_size(), a.output_size()}};
  if (a.gate_size() > 0) needed.columns.push_back(a.gate_size());
  return needed;
}

BlockWork work(const BlockSpec& block, const ModelSpec& spec) {
  const AttentionParams& a = params_of(block);
  const auto qkv = static_cast<double>(a.qkv_size()), attended = static_cast<double>(a.output_size());
  const auto inputs = static_cast<double>(input_width(a, spec)), outputs = static_cast<double>(spec.hidden_size);
  // A key takes a product with the query, and one of its weight with the value.
  const auto gate = static_cast<double>(a.gate_size());
  return {.operations = 2.0 * (inputs * (qkv + gate) + attended * outputs),
          .operations_per_key = 2.0 * (static_cast<double>(a.q_size()) + attended),
          .exchanges = {a.output_size(), spec.hidden_size}};
}

std::vector<BlockWeight> weights(const BlockSpec& block, const ModelSpec& spec, const HasTensor& has) {
  const AttentionParams& a = params_of(block);
  std::vector<BlockWeight> all;
  if (!a.names.norm.empty() && a.norm.weight) {
    all.push_back(norm_weight("attn_norm", a.names.norm, input_width(a, spec), a.norm));
  }
  for (BlockWeight& weight : qkv_weights(a, spec, has)) all.push_back(std::move(weight));
  if (a.q_k_norm && a.q_k_norm->norm.weight) {
    all.push_back(head_norm_weight(a, spec, true));
    all.push_back(head_norm_weight(a, spec, false));
  }
  if (a.gate != OutputGate::kNone) all.push_back(gate_weight(a, spec));
  if (a.sinks) all.push_back({.role = "attn_sinks", .name = a.names.sinks, .rows = a.heads, .whole_name = true});
  if (!a.names.sub_norm.empty() && a.sub_norm.weight) {
    all.push_back(norm_weight("attn_sub_norm", a.names.sub_norm, a.output_size(), a.sub_norm));
  }
  for (const auto& [projection, part] : {std::pair(a.names.k, "k"), {a.names.v, "v"}}) {
    const std::string name = kv_scale_name(projection, part, has);
    if (!name.empty()) {
      all.push_back({.role = std::string("attn_") + part + "_scale", .name = name, .rows = 1, .whole_name = true});
    }
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

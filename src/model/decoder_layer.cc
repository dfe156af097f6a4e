#include "model/decoder_layer.h"

#include <utility>

#include "model/weight_loader.h"

namespace millrace::model {

using backend::Norm;

NormWeights::NormWeights(WeightLoader& loader, const std::string& name, const ModelSpec& spec)
    : weight(loader.vector(name + ".weight", spec.hidden_size)) {
  if (spec.norm == backend::NormKind::kLayer) bias = loader.vector(name + ".bias", spec.hidden_size);
}

Norm NormWeights::view(const ModelSpec& spec) const {
  return {spec.norm, spec.norm_eps, weight.empty() ? nullptr : weight.data(), bias.empty() ? nullptr : bias.data()};
}

namespace {

// Biases of stacked outputs: zeros where one of them has none; empty if none has.
std::vector<float> stack(std::vector<std::vector<float>> parts, const std::vector<std::int64_t>& sizes) {
  bool any = false;
  for (const auto& part : parts) any = any || !part.empty();
  std::vector<float> all;
  if (!any) return all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i].resize(static_cast<std::size_t>(sizes[i]), 0.0f);
    all.insert(all.end(), parts[i].begin(), parts[i].end());
  }
  return all;
}

// Value order[i] as value i.
std::vector<float> in_order(std::vector<float> values, const std::vector<std::int32_t>& order) {
  if (values.empty() || order.empty()) return values;
  std::vector<float> out;
  for (const std::int32_t i : order) out.push_back(values[static_cast<std::size_t>(i)]);
  return out;
}

const float* pointer(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

}  // namespace

DecoderLayer::DecoderLayer(WeightLoader& loader, const ModelSpec& spec, std::int64_t index, backend::Backend& backend,
                           backend::MatmulPrecision precision, std::int64_t inputs) {
  const LayerSpec& layer_spec = spec.layers[static_cast<std::size_t>(index)];
  const AttentionSpec& a = layer_spec.attention;
  const WeightNames& names = spec.names;
  const std::int64_t hidden = spec.hidden_size, q_size = a.heads * a.head_dim, kv_size = a.kv_heads * a.head_dim;
  if (inputs == 0) inputs = hidden;
  const auto name = [&](const std::string& pattern) { return WeightLoader::layer_name(pattern, index); };
  const auto bias = [&](const std::string& pattern, std::int64_t n, bool rotary = false) -> std::vector<float> {
    const std::string full = name(pattern) + ".bias";
    if (!spec.biases && !loader.has(full)) return {};
    return rotary ? loader.rotary_vector(full, n, a.head_dim) : loader.vector(full, n);
  };
  const auto linear = [&](const std::string& pattern, std::int64_t rows, std::int64_t cols, bool rotary = false) {
    const std::string full = name(pattern) + ".weight";
    return rotary ? loader.rotary_linear(full, rows, cols, a.head_dim)
                  : loader.linear(full, rows, cols, spec.transposed_linears);
  };
  const auto pack = [&](std::vector<backend::WeightSource> sources) {
    return backend.make_linear(std::move(sources), precision);
  };

  if (!names.attention_norm.empty()) attention_norm_ = NormWeights(loader, name(names.attention_norm), spec);
  mlp_norm_ = NormWeights(loader, name(names.mlp_norm), spec);
  const bool rotary = spec.rope_interleaved;
  if (!names.qkv.empty() && loader.has(name(names.qkv) + ".weight")) {
    qkv_ = pack({linear(names.qkv, q_size + 2 * kv_size, inputs)});
    qkv_bias_ = bias(names.qkv, q_size + 2 * kv_size);
  } else {
    qkv_ = pack({linear(names.q, q_size, inputs, rotary), linear(names.k, kv_size, inputs, rotary),
                 linear(names.v, kv_size, inputs)});
    qkv_bias_ = stack({bias(names.q, q_size, rotary), bias(names.k, kv_size, rotary), bias(names.v, kv_size)},
                      {q_size, kv_size, kv_size});
  }
  o_ = pack({linear(names.o, hidden, q_size)});
  o_bias_ = bias(names.o, hidden);
  if (a.q_k_norm) {
    q_norm_ = loader.vector(name(names.q_norm) + ".weight", a.head_dim);
    k_norm_ = loader.vector(name(names.k_norm) + ".weight", a.head_dim);
  }
  const std::int64_t width = layer_spec.mlp.width;
  std::vector<backend::WeightSource> up;
  if (layer_spec.mlp.gated) up.push_back(linear(names.gate, width, hidden));
  up.push_back(linear(names.up, width, hidden));
  backend::WeightSource down = linear(names.down, hidden, width);
  // Where `down` takes its inputs in another order, gate and up make them in that order.
  const std::vector<std::int32_t> order = std::exchange(down.columns, {});
  for (backend::WeightSource& source : up) source = WeightLoader::with_rows(std::move(source), order);
  up_ = pack(std::move(up));
  up_bias_ = in_order(bias(names.up, width), order);
  if (layer_spec.mlp.gated) up_bias_ = stack({in_order(bias(names.gate, width), order), up_bias_}, {width, width});
  down_ = pack({std::move(down)});
  down_bias_ = bias(names.down, hidden);
}

void DecoderLayer::run(backend::Backend& backend, const ModelSpec& spec, std::int64_t index, const LayerRows& rows,
                       TensorView x, const backend::KvPages& pages) const {
  const AttentionSpec& a = spec.layers[static_cast<std::size_t>(index)].attention;
  const MlpSpec& m = spec.layers[static_cast<std::size_t>(index)].mlp;
  backend::AttentionInputs inputs;
  inputs.norm = attention_norm_.view(spec);
  inputs.qkv = qkv_.get();
  inputs.bias = pointer(qkv_bias_);
  inputs.heads = a.heads;
  if (a.q_k_norm) {
    inputs.q_norm = Norm{backend::NormKind::kRms, spec.norm_eps, q_norm_.data(), nullptr};
    inputs.k_norm = Norm{backend::NormKind::kRms, spec.norm_eps, k_norm_.data(), nullptr};
  }
  if (rows.cos_sin.data != nullptr) {
    inputs.cos_sin = rows.cos_sin.row(0);
    inputs.rotated = rows.cos_sin.cols();
  }
  inputs.sequences = rows.sequences;
  inputs.kv = pages;
  backend.project_attention(inputs, x, rows.qkv);
  const TensorView q = rows.qkv.columns(0, a.heads * a.head_dim);
  backend.attend({q, rows.sequences, pages, a.heads, a.scale, a.window}, rows.attended);
  backend.linear(*o_, {.bias = pointer(o_bias_), .accumulate = true}, rows.attended, rows.residual);
  backend.mlp({.norm = mlp_norm_.view(spec),
               .up = up_.get(),
               .up_bias = pointer(up_bias_),
               .gated = m.gated,
               .activation = m.activation,
               .down = down_.get(),
               .down_bias = pointer(down_bias_)},
              rows.residual);
}

}  // namespace millrace::model

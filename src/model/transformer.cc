#include "model/transformer.h"

#include <algorithm>

#include "base/check.h"
#include "model/weight_loader.h"

namespace millrace::model {

using backend::Norm;

namespace {

// Rows that go to a sink at once: enough for the products to be near the machine's peak, 13 MB of logits for a
// vocabulary of 49,152.
constexpr std::int64_t kSinkRows = 64;

}  // namespace

Transformer::NormWeights::NormWeights(WeightLoader& loader, const std::string& name, const ModelSpec& spec)
    : weight(loader.vector(name + ".weight", spec.hidden_size)) {
  if (spec.norm == backend::NormKind::kLayer) bias = loader.vector(name + ".bias", spec.hidden_size);
}

Norm Transformer::NormWeights::view(const ModelSpec& spec) const {
  return {spec.norm, spec.norm_eps, weight.data(), bias.empty() ? nullptr : bias.data()};
}

struct Transformer::Layer {
  NormWeights attention_norm, mlp_norm;
  std::vector<float> q_norm, k_norm;
  std::vector<float> qkv_bias, o_bias, up_bias, down_bias;
  std::unique_ptr<backend::Linear> qkv, o, up, down;  // up: gate and up stacked when gated
};

// Activations of one step, [rows, columns] f32 each, grown when a larger step comes.
struct Transformer::Workspace {
  std::int64_t rows = 0;
  std::vector<std::int32_t> positions;
  Buffer memory;
  TensorView residual, qkv, attended, cos_sin;
  std::int64_t logit_rows = 0;
  Buffer logits_memory;
  TensorView logits;
  Buffer sink_memory;  // of kSinkRows logits or hidden states, from the first step on that has a sink
};

Transformer::~Transformer() = default;

Transformer::Transformer(const checkpoint::Checkpoint& checkpoint, ModelSpec spec, backend::Backend& backend,
                         const ModelOptions& options)
    : spec_(std::move(spec)),
      backend_(backend),
      max_length_(options.max_length > 0 ? options.max_length : spec_.context_length),
      workspace_(std::make_unique<Workspace>()) {
  load(checkpoint, options);
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

const float* pointer(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

}  // namespace

Transformer::Layer Transformer::load_layer(WeightLoader& loader, std::int64_t index, const ModelOptions& options) {
  const LayerSpec& layer_spec = spec_.layers[static_cast<std::size_t>(index)];
  const AttentionSpec& a = layer_spec.attention;
  const std::int64_t hidden = spec_.hidden_size, q_size = a.heads * a.head_dim, kv_size = a.kv_heads * a.head_dim;
  const auto name = [&](const std::string& pattern) { return WeightLoader::layer_name(pattern, index); };
  const auto bias = [&](const std::string& pattern, std::int64_t n, bool rotary = false) -> std::vector<float> {
    const std::string full = name(pattern) + ".bias";
    if (!spec_.biases && !loader.has(full)) return {};
    return rotary ? loader.rotary_vector(full, n, a.head_dim) : loader.vector(full, n);
  };
  const auto linear = [&](const std::string& pattern, std::int64_t rows, std::int64_t cols, bool rotary = false) {
    const std::string full = name(pattern) + ".weight";
    return rotary ? loader.rotary_linear(full, rows, cols, a.head_dim)
                  : loader.linear(full, rows, cols, spec_.transposed_linears);
  };
  const auto pack = [&](std::vector<backend::WeightSource> sources) {
    return backend_.make_linear(std::move(sources), options.precision);
  };

  Layer layer;
  layer.attention_norm = NormWeights(loader, name(spec_.names.attention_norm), spec_);
  layer.mlp_norm = NormWeights(loader, name(spec_.names.mlp_norm), spec_);
  const bool rotary = spec_.rope_interleaved;
  if (!spec_.names.qkv.empty() && loader.has(name(spec_.names.qkv) + ".weight")) {
    layer.qkv = pack({linear(spec_.names.qkv, q_size + 2 * kv_size, hidden)});
    layer.qkv_bias = bias(spec_.names.qkv, q_size + 2 * kv_size);
  } else {
    layer.qkv = pack({linear(spec_.names.q, q_size, hidden, rotary), linear(spec_.names.k, kv_size, hidden, rotary),
                      linear(spec_.names.v, kv_size, hidden)});
    layer.qkv_bias =
        stack({bias(spec_.names.q, q_size, rotary), bias(spec_.names.k, kv_size, rotary), bias(spec_.names.v, kv_size)},
              {q_size, kv_size, kv_size});
  }
  layer.o = pack({linear(spec_.names.o, hidden, q_size)});
  layer.o_bias = bias(spec_.names.o, hidden);
  if (a.q_k_norm) {
    layer.q_norm = loader.vector(name(spec_.names.q_norm) + ".weight", a.head_dim);
    layer.k_norm = loader.vector(name(spec_.names.k_norm) + ".weight", a.head_dim);
  }
  const std::int64_t width = layer_spec.mlp.width;
  if (layer_spec.mlp.gated) {
    layer.up = pack({linear(spec_.names.gate, width, hidden), linear(spec_.names.up, width, hidden)});
    layer.up_bias = stack({bias(spec_.names.gate, width), bias(spec_.names.up, width)}, {width, width});
  } else {
    layer.up = pack({linear(spec_.names.up, width, hidden)});
    layer.up_bias = bias(spec_.names.up, width);
  }
  layer.down = pack({linear(spec_.names.down, hidden, width)});
  layer.down_bias = bias(spec_.names.down, hidden);
  return layer;
}

void Transformer::load(const checkpoint::Checkpoint& checkpoint, const ModelOptions& options) {
  WeightLoader loader(checkpoint, spec_);
  std::uint64_t all_bytes = 0;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) all_bytes += tensor.bytes;
  const WeightNames& names = spec_.names;
  const auto embedding_name = names.embedding + ".weight";
  embedding_ =
      backend_.make_linear({loader.linear(embedding_name, spec_.vocab_size, spec_.hidden_size)}, options.precision);
  if (spec_.positions == PositionKind::kLearned) {
    positions_ = backend_.make_linear(
        {loader.linear(names.positions + ".weight", spec_.context_length, spec_.hidden_size)}, options.precision);
    if (max_length_ > spec_.context_length) {
      throw_load_error(ErrorCode::kInvalidArgument, "max-model-len",
                       "max-model-len is {}: this model has {} learned positions", max_length_, spec_.context_length);
    }
  } else {
    std::vector<float> factors;
    if (loader.has("rope_freqs.weight")) factors = loader.vector("rope_freqs.weight", spec_.rope_dim / 2);
    rope_ = std::make_unique<Rope>(spec_.rope_theta, spec_.rope_dim, spec_.rope_scaling, spec_.context_length,
                                   max_length_, factors);
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(spec_.layers.size()); ++i) {
    if (options.progress) options.progress(loader.bytes_used(), all_bytes);
    layers_.push_back(load_layer(loader, i, options));
  }
  final_norm_ = NormWeights(loader, names.final_norm, spec_);
  const std::string head_name = names.head + ".weight";
  if (spec_.tied_head) {
    loader.mark_used(head_name);  // some files repeat the embedding as the head
  } else {
    head_ = backend_.make_linear({loader.linear(head_name, spec_.vocab_size, spec_.hidden_size)}, options.precision);
  }
  if (options.progress) options.progress(all_bytes, all_bytes);
  loader.check_all_used();
  backend_.finish_loading();
}

backend::KvGeometry Transformer::kv_geometry(const backend::KvPageForm& form) const noexcept {
  const AttentionSpec& a = spec_.layers.front().attention;
  return {.dtype = form.dtype,
          .kv_heads = a.kv_heads,
          .head_dim = a.head_dim,
          .block_tokens = form.block_tokens,
          .layout = form.layout};
}

void Transformer::prepare_workspace(const BatchInput& input) {
  Workspace& w = *workspace_;
  const auto rows = static_cast<std::int64_t>(input.tokens.size());
  const auto logit_rows = static_cast<std::int64_t>(input.logit_rows.size());
  const AttentionSpec& a = spec_.layers.front().attention;
  struct Part {
    TensorView* view;
    std::int64_t columns;
  };
  const auto lay_out = [&](Buffer& memory, std::int64_t capacity, std::int64_t used, std::initializer_list<Part> parts,
                           bool grow) {
    const auto padded = [](std::int64_t columns) { return (columns + 15) / 16 * 16; };
    if (grow) {
      std::int64_t columns = 0;
      for (const Part& part : parts) columns += padded(part.columns);
      memory = backend_.allocate(static_cast<std::size_t>(capacity * columns) * sizeof(float)).or_throw();
    }
    auto* at = memory.as<float>();
    for (const Part& part : parts) {
      *part.view = TensorView(at, DType::kF32, {used, part.columns});
      at += capacity * padded(part.columns);
    }
  };
  const bool grow = rows > w.rows;
  w.rows = std::max(w.rows, rows);
  lay_out(w.memory, w.rows, rows,
          {{&w.residual, spec_.hidden_size},
           {&w.qkv, (a.heads + 2 * a.kv_heads) * a.head_dim},
           {&w.attended, a.heads * a.head_dim},
           {&w.cos_sin, std::max<std::int64_t>(1, spec_.rope_dim)}},
          grow);
  const bool grow_logits = logit_rows > w.logit_rows;
  w.logit_rows = std::max(w.logit_rows, logit_rows);
  lay_out(w.logits_memory, w.logit_rows, logit_rows, {{&w.logits, spec_.vocab_size}}, grow_logits);
}

void Transformer::attention(std::int64_t index, const BatchInput& input, const kv::KvStore& store) {
  Workspace& w = *workspace_;
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const AttentionSpec& a = spec_.layers[static_cast<std::size_t>(index)].attention;
  const backend::KvPages pages = store.layer(index);
  backend::AttentionInputs inputs;
  inputs.norm = layer.attention_norm.view(spec_);
  inputs.qkv = layer.qkv.get();
  inputs.bias = pointer(layer.qkv_bias);
  inputs.heads = a.heads;
  if (a.q_k_norm) {
    inputs.q_norm = Norm{backend::NormKind::kRms, spec_.norm_eps, layer.q_norm.data(), nullptr};
    inputs.k_norm = Norm{backend::NormKind::kRms, spec_.norm_eps, layer.k_norm.data(), nullptr};
  }
  if (rope_) {
    inputs.cos_sin = w.cos_sin.row(0);
    inputs.rotated = spec_.rope_dim;
  }
  inputs.sequences = input.sequences;
  inputs.kv = pages;
  backend_.project_attention(inputs, w.residual, w.qkv);
  const TensorView q = w.qkv.columns(0, a.heads * a.head_dim);
  backend_.attend({q, input.sequences, pages, a.heads, a.scale, a.window}, w.attended);
  backend_.linear(*layer.o, {.bias = pointer(layer.o_bias), .accumulate = true}, w.attended, w.residual);
}

void Transformer::mlp(std::int64_t index) {
  const Layer& layer = layers_[static_cast<std::size_t>(index)];
  const MlpSpec& m = spec_.layers[static_cast<std::size_t>(index)].mlp;
  backend_.mlp({.norm = layer.mlp_norm.view(spec_),
                .up = layer.up.get(),
                .up_bias = pointer(layer.up_bias),
                .gated = m.gated,
                .activation = m.activation,
                .down = layer.down.get(),
                .down_bias = pointer(layer.down_bias)},
               workspace_->residual);
}

TensorView Transformer::forward(const BatchInput& input, const kv::KvStore& store) {
  prepare_workspace(input);
  Workspace& w = *workspace_;
  backend_.gather(*embedding_, input.tokens, false, w.residual);
  w.positions.resize(input.tokens.size());
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      w.positions[static_cast<std::size_t>(sequence.first_row + i)] =
          static_cast<std::int32_t>(sequence.first_position + i);
    }
  }
  if (rope_) {
    for (std::size_t t = 0; t < w.positions.size(); ++t)
      rope_->fill(w.positions[t], w.cos_sin.row(static_cast<std::int64_t>(t)));
  } else {
    backend_.gather(*positions_, w.positions, true, w.residual);
  }
  const auto run_layer = [&](std::int64_t index) {
    attention(index, input, store);
    mlp(index);
  };
  for (const std::int64_t index : input.layers) run_layer(index);
  for (std::int64_t i = 0; input.layers.empty() && i < std::ssize(layers_); ++i) run_layer(i);
  if (!input.logit_rows.empty()) logits(input.logit_rows, w.logits);
  backend_.synchronize();
  if (input.sink != nullptr) feed(input);
  return w.logits;
}

void Transformer::logits(std::span<const std::int64_t> rows, TensorView out) {
  const Norm norm = final_norm_.view(spec_);
  backend_.linear(head_ ? *head_ : *embedding_, {.norm = norm, .rows = rows}, workspace_->residual, out);
}

void Transformer::feed(const BatchInput& input) {
  Workspace& w = *workspace_;
  const std::int64_t widest = std::max(spec_.vocab_size, spec_.hidden_size);
  if (w.sink_memory.size() == 0) {
    w.sink_memory = backend_.allocate(static_cast<std::size_t>(kSinkRows * widest) * sizeof(float)).or_throw();
  }
  const auto in_blocks = [&](const std::vector<std::int64_t>& rows, std::int64_t columns, const auto& compute,
                             const auto& take) {
    const auto n = static_cast<std::int64_t>(rows.size());
    for (std::int64_t first = 0; first < n; first += kSinkRows) {
      const std::int64_t count = std::min(kSinkRows, n - first);
      const TensorView block(w.sink_memory.as<float>(), DType::kF32, {count, columns});
      compute(std::span(rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), block);
      backend_.synchronize();
      take(first, block);
    }
  };
  in_blocks(
      input.scored_rows, spec_.vocab_size, [&](auto rows, TensorView block) { logits(rows, block); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_logits(first, block); });
  in_blocks(
      input.hidden_rows, spec_.hidden_size,
      [&](auto rows, TensorView block) { backend_.norm(final_norm_.view(spec_), rows, w.residual, block); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_hidden(first, block); });
}

std::vector<backend::Linear*> Transformer::linears() const {
  std::vector<backend::Linear*> out;
  for (const Layer& layer : layers_) {
    for (const auto* linear : {&layer.qkv, &layer.o, &layer.up, &layer.down}) out.push_back(linear->get());
  }
  out.push_back(head_ ? head_.get() : embedding_.get());
  return out;
}

void Transformer::set_two_terms(std::span<const std::string> weights) {
  for (backend::Linear* linear : linears()) {
    for (const std::string& weight : weights) linear->set_two_terms(weight);
  }
}

std::size_t Transformer::weight_bytes_per_token() const noexcept {
  std::size_t bytes = (head_ ? *head_ : *embedding_).packed_bytes();
  for (const Layer& layer : layers_) {
    bytes +=
        layer.qkv->packed_bytes() + layer.o->packed_bytes() + layer.up->packed_bytes() + layer.down->packed_bytes();
  }
  return bytes;
}

std::size_t Transformer::weight_bytes() const noexcept {
  return weight_bytes_per_token() + (head_ ? embedding_->packed_bytes() : 0) +
         (positions_ ? positions_->packed_bytes() : 0);
}

std::string Transformer::description() const { return layers_.front().up->description(); }

}  // namespace millrace::model

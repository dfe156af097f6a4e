#include "model/transformer.h"

#include <algorithm>

#include "base/check.h"
#include "model/weight_loader.h"

namespace millrace::model {

namespace {

// Rows that go to a sink at once: enough for the products to be near the machine's peak, 13 MB of logits for a
// vocabulary of 49,152.
constexpr std::int64_t kSinkRows = 64;

constexpr std::int64_t padded(std::int64_t columns) { return (columns + 15) / 16 * 16; }  // to cache lines

}  // namespace

// Activations of one step, [rows, columns] f32 each, grown when a larger step comes.
struct Transformer::Workspace {
  std::int64_t rows = 0;
  std::vector<std::int32_t> positions;
  Buffer memory;
  LayerRows layer;
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

void Transformer::load(const checkpoint::Checkpoint& checkpoint, const ModelOptions& options) {
  WeightLoader loader(checkpoint, spec_);
  const std::uint64_t all_bytes = loader.bytes();
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
    layers_.emplace_back(loader, spec_, i, backend_, options.precision);
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

// What a row of a step takes of the workspace, in the order of its parts: residual, qkv, attended, cos_sin.
std::array<std::int64_t, 4> Transformer::row_columns() const noexcept {
  const AttentionSpec& a = spec_.layers.front().attention;
  return {spec_.hidden_size, (a.heads + 2 * a.kv_heads) * a.head_dim, a.heads * a.head_dim,
          std::max<std::int64_t>(1, spec_.rope_dim)};
}

std::size_t Transformer::reserve(std::int64_t rows, std::int64_t logit_rows) {
  Workspace& w = *workspace_;
  const auto grow = [&](Buffer& memory, std::int64_t& capacity, std::int64_t wanted, std::int64_t columns) {
    if (wanted <= capacity) return;
    memory = backend_.allocate(static_cast<std::size_t>(wanted * columns) * sizeof(float)).or_throw();
    capacity = wanted;
  };
  std::int64_t columns = 0;
  for (const std::int64_t part : row_columns()) columns += padded(part);
  grow(w.memory, w.rows, rows, columns);
  grow(w.logits_memory, w.logit_rows, logit_rows, padded(spec_.vocab_size));
  return w.memory.size() + w.logits_memory.size();
}

void Transformer::prepare_workspace(const BatchInput& input) {
  Workspace& w = *workspace_;
  const auto rows = static_cast<std::int64_t>(input.tokens.size());
  const auto logit_rows = static_cast<std::int64_t>(input.logit_rows.size());
  reserve(rows, logit_rows);
  const std::array views = {&w.layer.residual, &w.layer.qkv, &w.layer.attended, &w.layer.cos_sin};
  const auto columns = row_columns();
  auto* at = w.memory.as<float>();
  for (std::size_t part = 0; part < views.size(); ++part) {
    *views[part] = TensorView(at, DType::kF32, {rows, columns[part]});
    at += w.rows * padded(columns[part]);
  }
  w.logits = TensorView(w.logits_memory.as<float>(), DType::kF32, {logit_rows, spec_.vocab_size});
  if (!rope_) w.layer.cos_sin.data = nullptr;
  w.layer.sequences = input.sequences;
}

TensorView Transformer::forward(const BatchInput& input, const kv::KvStore& store) {
  prepare_workspace(input);
  Workspace& w = *workspace_;
  backend_.gather(*embedding_, input.tokens, false, w.layer.residual);
  w.positions.resize(input.tokens.size());
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      w.positions[static_cast<std::size_t>(sequence.first_row + i)] =
          static_cast<std::int32_t>(sequence.first_position + i);
    }
  }
  if (rope_) {
    for (std::size_t t = 0; t < w.positions.size(); ++t)
      rope_->fill(w.positions[t], w.layer.cos_sin.row(static_cast<std::int64_t>(t)));
  } else {
    backend_.gather(*positions_, w.positions, true, w.layer.residual);
  }
  const auto run_layer = [&](std::int64_t index) {
    if (input.tap != nullptr) input.tap->pass(index, w.layer.residual);
    const backend::KvPages pages = store.layer(index);
    layers_[static_cast<std::size_t>(index)].run(backend_, spec_, index, w.layer, w.layer.residual, pages);
  };
  for (const std::int64_t index : input.layers) run_layer(index);
  for (std::int64_t i = 0; input.layers.empty() && i < std::ssize(layers_); ++i) run_layer(i);
  if (input.tap != nullptr) input.tap->pass(std::ssize(layers_), w.layer.residual);
  if (!input.logit_rows.empty()) logits(input.logit_rows, w.logits);
  backend_.synchronize();
  if (input.sink != nullptr) feed(input);
  if (input.tap != nullptr) input.tap->computed(input);
  return w.logits;
}

void Transformer::logits(std::span<const std::int64_t> rows, TensorView out) {
  const backend::Norm norm = final_norm();
  backend_.linear(head(), {.norm = norm, .rows = rows}, workspace_->layer.residual, out);
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
      [&](auto rows, TensorView block) { backend_.norm(final_norm(), rows, w.layer.residual, block); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_hidden(first, block); });
}

std::vector<backend::Linear*> Transformer::linears() const {
  std::vector<backend::Linear*> out;
  for (const DecoderLayer& layer : layers_) {
    for (backend::Linear* linear : layer.linears()) out.push_back(linear);
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
  std::size_t bytes = head().packed_bytes();
  for (const DecoderLayer& layer : layers_) {
    for (const backend::Linear* linear : layer.linears()) bytes += linear->packed_bytes();
  }
  return bytes;
}

std::size_t Transformer::weight_bytes() const noexcept {
  return weight_bytes_per_token() + (head_ ? embedding_->packed_bytes() : 0) +
         (positions_ ? positions_->packed_bytes() : 0);
}

std::string Transformer::description() const { return layers_.front().linears()[2]->description(); }

}  // namespace millrace::model

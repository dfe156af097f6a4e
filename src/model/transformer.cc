#include "model/transformer.h"

#include <algorithm>

#include "base/check.h"
#include "model/weight_loader.h"

namespace millrace::model {

namespace {

// Rows that go to a sink at once: enough for the products to be near the machine's peak, 13 MB of logits for a
// vocabulary of 49,152.
constexpr std::int64_t kSinkRows = 64;

}  // namespace

// Activations of one step, [rows, columns] f32 each, grown when a larger step comes.
struct Transformer::Workspace {
  std::int64_t columns = 0, rows = 0;  // of memory
  std::vector<std::int32_t> positions;
  backend::DeviceBuffer memory;
  BlockRows layer;
  std::int64_t logit_rows = 0;
  backend::DeviceBuffer logits_memory;
  backend::HostView logits;           // of the last step
  backend::DeviceBuffer sink_memory;  // of kSinkRows logits or hidden states, from the first step on that has a sink
};

Transformer::~Transformer() = default;

Transformer::Transformer(const checkpoint::Checkpoint& checkpoint, ModelSpec spec, backend::Backend& backend,
                         const ModelOptions& options)
    : spec_(std::move(spec)),
      backend_(backend),
      max_length_(options.max_length > 0 ? options.max_length : spec_.context_length),
      workspace_(std::make_unique<Workspace>()) {
  check_dimensions(spec_, backend.limits()).or_throw();
  load(checkpoint, options);
  workspace_->columns = RowSpace::padded(spec_.hidden_size) + stack_workspace(spec_).columns;
  if (rope_) workspace_->columns += RowSpace::padded(spec_.rope_dim);
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
  layers_ = std::make_unique<LayerStack>(loader, spec_, backend_, options.precision, [&](std::int64_t) {
    if (options.progress) options.progress(loader.bytes_used(), all_bytes);
  });
  final_norm_ = NormWeights(loader, names.final_norm, spec_, backend_);
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

kv::KvGroups Transformer::kv_groups(const backend::KvFormat& form) const {
  return kv::group_layers(kv_needs(spec_), form);
}

std::size_t Transformer::reserve(std::int64_t rows, std::int64_t logit_rows) {
  Workspace& w = *workspace_;
  const auto grow = [&](backend::DeviceBuffer& memory, std::int64_t& capacity, std::int64_t wanted,
                        std::int64_t columns) {
    if (wanted <= capacity) return;
    memory = backend_.allocate(static_cast<std::size_t>(wanted * columns) * sizeof(float)).or_throw();
    capacity = wanted;
  };
  grow(w.memory, w.rows, rows, w.columns);
  grow(w.logits_memory, w.logit_rows, logit_rows, RowSpace::padded(spec_.vocab_size));
  return w.memory.size() + w.logits_memory.size();
}

void Transformer::prepare_workspace(const BatchInput& input) {
  Workspace& w = *workspace_;
  const auto rows = static_cast<std::int64_t>(input.tokens.size());
  const auto logit_rows = static_cast<std::int64_t>(input.logit_rows.size());
  reserve(rows, logit_rows);
  w.layer.space = RowSpace(w.memory.address(), rows);
  w.layer.residual = w.layer.space.take(spec_.hidden_size);
  w.layer.cos_sin = rope_ ? w.layer.space.take(spec_.rope_dim) : backend::DeviceView();
  w.layer.sequences = input.sequences;
}

TensorView Transformer::forward(const BatchInput& input, const kv::KvStore& store) {
  Workspace& w = *workspace_;
  w.logits.release();
  prepare_workspace(input);
  backend_.gather(*embedding_, input.tokens, false, w.layer.residual);
  w.positions.resize(input.tokens.size());
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      w.positions[static_cast<std::size_t>(sequence.first_row + i)] =
          static_cast<std::int32_t>(sequence.first_position + i);
    }
  }
  if (rope_) {
    backend_.rotary_table(w.positions, rope_->angles(), w.layer.cos_sin);
  } else {
    backend_.gather(*positions_, w.positions, true, w.layer.residual);
  }
  const auto run_layer = [&](std::int64_t index) {
    if (input.hook != nullptr) input.hook->pass(index, w.layer.residual);
    layers_->run(backend_, index, w.layer, store);
  };
  for (const std::int64_t index : input.layers) run_layer(index);
  for (std::int64_t i = 0; input.layers.empty() && i < layers_->size(); ++i) run_layer(i);
  if (input.hook != nullptr) input.hook->pass(layers_->size(), w.layer.residual);
  const backend::DeviceView of_rows = w.logits_memory.view(std::ssize(input.logit_rows), spec_.vocab_size);
  if (!input.logit_rows.empty()) logits(input.logit_rows, of_rows);
  backend_.synchronize();
  if (input.sink != nullptr) feed(input);
  if (input.hook != nullptr) input.hook->computed(input);
  w.logits = backend_.host_view(of_rows);
  return w.logits.view();
}

void Transformer::logits(std::span<const std::int64_t> rows, backend::DeviceView out) {
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
      const backend::DeviceView block = w.sink_memory.view(count, columns);
      compute(std::span(rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), block);
      backend_.synchronize();
      take(first, backend_.host_view(block).view());
    }
  };
  in_blocks(
      input.scored_rows, spec_.vocab_size, [&](auto rows, backend::DeviceView block) { logits(rows, block); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_logits(first, block); });
  in_blocks(
      input.hidden_rows, spec_.hidden_size,
      [&](auto rows, backend::DeviceView block) { backend_.norm(final_norm(), rows, w.layer.residual, block); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_hidden(first, block); });
}

std::vector<backend::Linear*> Transformer::linears() const {
  std::vector<backend::Linear*> out = layers_->linears();
  out.push_back(head_ ? head_.get() : embedding_.get());
  return out;
}

void Transformer::set_int8x2(std::span<const std::string> weights) {
  for (backend::Linear* linear : linears()) {
    for (const std::string& weight : weights) linear->set_int8x2(weight);
  }
}

std::size_t Transformer::weight_bytes_per_token() const noexcept {
  return head().packed_bytes() + layers_->weight_bytes_per_token();
}

std::size_t Transformer::weight_bytes() const noexcept {
  std::size_t bytes = embedding_->packed_bytes();
  for (const auto* linear : {&positions_, &head_}) bytes += *linear ? (*linear)->packed_bytes() : 0;
  for (const backend::Linear* linear : layers_->linears()) bytes += linear->packed_bytes();
  return bytes;
}

std::string Transformer::description() const { return layers_->description(); }

}  // namespace millrace::model

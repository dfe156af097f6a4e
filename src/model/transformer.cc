#include "model/transformer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "model/ranks/rank_leader.h"
#include "model/transformer_workspace.h"
#include "model/weight_loader.h"

namespace millrace::model {

namespace {

// Lengths whose rotations are kept from one step to the next.
constexpr std::size_t kKeptLengths = 256;

// The factors of longrope that a GGUF file has as tensors.
void read_rope_factors(WeightLoader& loader, RopeConfig& rope) {
  if (rope.scaling.kind != RopeScaling::Kind::kLongRope || !rope.scaling.long_factors.empty()) return;
  const auto read = [&](const std::string& name) {
    const std::vector<float> factors = loader.vector(name, rope.dim / 2);
    return std::vector<double>(factors.begin(), factors.end());
  };
  rope.scaling.short_factors = read("rope_factors_short.weight");
  rope.scaling.long_factors = read("rope_factors_long.weight");
}

// Sines, then cosines, of position * 10000^(-i / (n - 1)).
backend::WeightSource sinusoidal_positions(std::int64_t rows, std::int64_t hidden) {
  backend::WeightSource source{
      .name = "sinusoidal positions", .format = quant::find_format("f32"), .rows = rows, .cols = hidden, .read = {}};
  source.read = [hidden](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    const std::int64_t half = hidden / 2;
    const double step = std::log(10000.0) / static_cast<double>(half - 1);
    for (std::int64_t r = 0; r < count; ++r) {
      for (std::int64_t i = 0; i < 2 * half; ++i) {
        const double angle = static_cast<double>(first + r) * std::exp(-step * static_cast<double>(i % half));
        const auto value = static_cast<float>(i < half ? std::sin(angle) : std::cos(angle));
        std::memcpy(out.data() + static_cast<std::size_t>(r * hidden + i) * sizeof(float), &value, sizeof value);
      }
    }
  };
  return source;
}

// Where this rank cannot go on with a step that the others have been told of, they are of no more use, and no step that
// has begun will be finished.
template <typename Steps, typename Work>
void with_ranks(RankLeader& leader, Steps& begun, const Work& work) {
  try {
    work();
  } catch (const LoadError& failure) {
    Error why = failure.error();
    why.code = ErrorCode::kUnavailable;
    begun.clear();
    leader.lose(why);
    throw LoadError(why);
  }
}

}  // namespace

std::int64_t step_columns(const ModelSpec& spec, bool shared) {
  std::int64_t columns = RowSpace::padded(spec.hidden_size) + stack_workspace(spec, shared).columns;
  for (const RopeConfig& rope : spec.ropes) columns += RowSpace::padded(rope.dim);
  if (spec.query_scale) columns += RowSpace::padded(1);
  if (!spec.names.project_in.empty()) columns += RowSpace::padded(spec.embedding_width());
  return columns;
}

Transformer::~Transformer() = default;

Transformer::Transformer(const checkpoint::Checkpoint& checkpoint, ModelSpec spec, backend::Backend& backend,
                         const ModelOptions& options)
    : spec_(std::move(spec)),
      backend_(backend),
      shards_{options.shards, options.shards != nullptr ? options.group->rank() : 0},
      group_(options.group),
      link_(group_.get(), backend),
      states_(shards_, link_, backend),
      leader_(options.leader),
      max_length_(options.max_length > 0 ? options.max_length : spec_.context_length),
      precision_(options.precision),
      quantization_(options.quantization),
      workspace_(std::make_unique<TransformerWorkspace>()) {
  check_dimensions(spec_, backend.limits()).or_throw();
  CHECK(options.shards == nullptr || backend.ranks() == options.shards->stage_ranks());
  CHECK((options.leader != nullptr) == (options.shards != nullptr && shards_.rank == 0));
  load(checkpoint, options);
  workspace_->columns = step_columns(spec_, shards_.is_shared() && shards_.shards->stage_ranks() > 1);
}

void Transformer::load(const checkpoint::Checkpoint& checkpoint, const ModelOptions& options) {
  WeightLoader loader(checkpoint, spec_, options.quantization);
  const std::uint64_t all_bytes = loader.bytes();
  const WeightNames& names = spec_.names;
  if (shards_.is_shared() && shards_.shards->stage_ranks() > 1) {
    vocabulary_ = {shards_.shards->borders(outer_weights(spec_).front(), 0), shards_.shards->place(shards_.rank)};
  }
  if (shards_.is_first() || (shards_.is_last() && spec_.tied_head)) {
    embedding_ = backend_.make_linear(
        {WeightLoader::with_range(loader.outer(names.embedding + ".weight", spec_.vocab_size, spec_.embedding_width()),
                                  vocabulary_rows())},
        options.precision);
  }
  if (shards_.is_first()) {
    embedding_norm_ = NormWeights(loader, names.embedding_norm, spec_.embedding_norm, spec_.hidden_size, backend_);
  }
  load_positions(loader, options);
  layers_ = std::make_unique<LayerStack>(loader, spec_, backend_, options.precision, shards_, [&](std::int64_t) {
    if (options.progress) options.progress(loader.bytes_used(), all_bytes);
  });
  final_norm_ = NormWeights(loader, names.final_norm, spec_.final_norm, spec_.hidden_size, backend_);
  load_head(loader, options);
  mark_used_elsewhere(loader, shards_);
  if (options.progress) options.progress(all_bytes, all_bytes);
  loader.check_all_used();
  backend_.finish_loading();
  for (const auto* linear : {&embedding_, &positions_, &head_, &project_in_, &project_out_}) {
    if (*linear) weights_.push_back(linear->get());
  }
  for (const backend::Linear* linear : layers_->linears()) weights_.push_back(linear);
  walk_ = std::make_unique<WeightWalk>(backend_, weights_, checkpoint.path, options.weight_round_ms);
}

void Transformer::load_positions(WeightLoader& loader, const ModelOptions& options) {
  for (RopeConfig rope : spec_.ropes) {
    if (loader.has("rope_freqs.weight")) rope_divisors_ = loader.vector("rope_freqs.weight", rope.dim / 2);
    read_rope_factors(loader, rope);
    rope_configs_.push_back(std::move(rope));
  }
  if (spec_.positions == PositionKind::kNone) return;
  const std::int64_t rows = spec_.context_length + spec_.position_offset;
  if (max_length_ > spec_.context_length) {
    throw_load_error(ErrorCode::kInvalidArgument, "max-model-len", "max-model-len is {}: this model has {} positions",
                     max_length_, spec_.context_length);
  }
  if (!shards_.is_first()) return;
  positions_ = backend_.make_linear({spec_.positions == PositionKind::kLearned
                                         ? loader.linear(spec_.names.positions + ".weight", rows, spec_.hidden_size)
                                         : sinusoidal_positions(rows, spec_.hidden_size)},
                                    options.precision);
}

void Transformer::load_head(WeightLoader& loader, const ModelOptions& options) {
  const WeightNames& names = spec_.names;
  const auto linear = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    return backend_.make_linear({loader.linear(name + ".weight", rows, cols)}, options.precision);
  };
  if (!names.project_in.empty()) {
    if (shards_.is_first()) project_in_ = linear(names.project_in, spec_.hidden_size, spec_.embedding_width());
    if (shards_.is_last()) project_out_ = linear(names.project_out, spec_.embedding_width(), spec_.hidden_size);
  }
  if (!shards_.is_last()) return;
  own_head_ = embedding_.get();
  if (spec_.tied_head) {
    loader.mark_used(names.head + ".weight");  // some files repeat the embedding as the head
  } else {
    head_ = backend_.make_linear({WeightLoader::with_range(head_source(loader, spec_), vocabulary_rows())},
                                 options.precision);
    own_head_ = head_.get();
  }
  if (loader.has(names.head + ".bias")) {
    const std::vector<float> bias = loader.vector(names.head + ".bias", spec_.vocab_size);
    const RowRange own = vocabulary_rows();
    head_bias_ = backend_.make_vector(
        std::span(bias).subspan(static_cast<std::size_t>(own.first), static_cast<std::size_t>(own.size())));
  }
}

std::size_t Transformer::reserve(std::int64_t rows, std::int64_t logit_rows) {
  TransformerWorkspace& w = *workspace_;
  const auto grow = [&](backend::DeviceBuffer& memory, std::int64_t& capacity, std::int64_t wanted,
                        std::int64_t columns) {
    if (wanted <= capacity) return;
    memory = backend_.allocate(static_cast<std::size_t>(wanted * columns) * sizeof(float)).or_throw();
    capacity = wanted;
  };
  grow(w.memory, w.rows, rows, w.columns);
  std::int64_t projected = w.logit_rows;
  if (project_out_) grow(w.projected_memory, projected, std::max(logit_rows, kSinkRows), spec_.embedding_width());
  grow(w.logits_memory, w.logit_rows, logit_rows, RowSpace::padded(spec_.vocab_size));
  return w.memory.size() + w.logits_memory.size() + w.projected_memory.size();
}

void Transformer::prepare_workspace(const BatchInput& input) {
  TransformerWorkspace& w = *workspace_;
  const auto rows = static_cast<std::int64_t>(input.tokens.size());
  const auto logit_rows = static_cast<std::int64_t>(input.logit_rows.size());
  reserve(rows, logit_rows);
  if (!input.scored_rows.empty() || !input.hidden_rows.empty()) w.reserve_sink(backend_, spec_);
  w.layer.space = RowSpace(w.memory.address(), rows);
  w.layer.residual = w.layer.space.take(spec_.hidden_size);
  w.cos_sin.clear();
  for (const RopeConfig& rope : rope_configs_) w.cos_sin.push_back(w.layer.space.take(rope.dim));
  w.layer.cos_sin = w.cos_sin;
  if (spec_.query_scale) w.layer.query_scale = w.layer.space.take(1);
  if (project_in_) w.embedded = w.layer.space.take(spec_.embedding_width());
  w.layer.sequences = input.sequences;
  w.adapters.begin(input.adapters, layers_->places());
  w.layer.adapters = input.adapters.empty() ? nullptr : &w.adapters;
  w.positions.resize(input.tokens.size());
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      w.positions[static_cast<std::size_t>(sequence.first_row + i)] =
          static_cast<std::int32_t>(sequence.first_position + i);
    }
  }
  if (input.window_pages.empty()) return;
  w.window_sequences = input.sequences;
  for (std::size_t i = 0; i < input.window_pages.size(); ++i) w.window_sequences[i].pages = input.window_pages[i];
  w.layer.window_sequences = w.window_sequences;
}

// Rows of the embedding, with what depends on positions alone.
void Transformer::embed(const BatchInput& input) {
  TransformerWorkspace& w = *workspace_;
  const backend::DeviceView& residual = w.layer.residual;
  const backend::DeviceView& embedded = project_in_ ? w.embedded : residual;
  backend_.gather(*embedding_, input.tokens,
                  {.first_row = vocabulary_rows().first, .adapters = w.adapters.of(kEmbeddingPlace)}, embedded);
  if (vocabulary_.are_shared()) {  // every token's row is of the rank that has it
    w.owners.clear();
    for (const std::int32_t token : input.tokens) {
      const auto border = std::ranges::upper_bound(vocabulary_.borders(), token);
      w.owners.push_back(static_cast<std::int32_t>(border - vocabulary_.borders().begin()) - 1);
    }
    backend_.exchange({.owners = w.owners}, embedded);
  }
  if (spec_.embedding_scale != 1.0f) backend_.scale({.factor = spec_.embedding_scale}, embedded);
  if (project_in_) backend_.linear(*project_in_, {}, embedded, residual);
  if (positions_) {
    w.table_rows.clear();
    for (const std::int32_t position : w.positions) {
      w.table_rows.push_back(position + static_cast<std::int32_t>(spec_.position_offset));
    }
    backend_.gather(*positions_, w.table_rows, {.accumulate = true}, residual);
  }
  if (!embedding_norm_.empty()) backend_.norm(embedding_norm_.view(), {}, residual, residual);
}

std::int64_t Transformer::rope_length(std::int64_t tokens) const noexcept {
  std::int64_t length = 0;
  for (const RopeConfig& rope : rope_configs_)
    length = std::max(length, Rope::length_of(rope, spec_.context_length, tokens));
  return length;
}

const std::vector<Rope>& Transformer::ropes_of(std::int64_t length) {
  const auto [at, is_new] = ropes_.try_emplace(length);
  if (is_new) {
    for (const RopeConfig& rope : rope_configs_) {
      at->second.emplace_back(rope, spec_.context_length, length, rope_divisors_);
    }
  }
  return at->second;
}

// Cosines and sines of all rows, of neighbours with the same length at once, and what else follows from positions.
void Transformer::rotate(const BatchInput& input) {
  TransformerWorkspace& w = *workspace_;
  if (spec_.query_scale) backend_.position_scale(w.positions, *spec_.query_scale, w.layer.query_scale);
  if (rope_configs_.empty()) return;
  if (ropes_.size() > kKeptLengths) ropes_.clear();
  const auto length_of = [&](std::size_t sequence) {
    return input.rope_lengths.empty() ? rope_length(max_length_) : input.rope_lengths[sequence];
  };
  for (std::size_t first = 0; first < input.sequences.size();) {
    std::size_t end = first + 1;
    while (end < input.sequences.size() && length_of(end) == length_of(first)) ++end;
    const std::int64_t row = input.sequences[first].first_row;
    const std::int64_t rows = input.sequences[end - 1].first_row + input.sequences[end - 1].n_rows - row;
    const std::vector<Rope>& ropes = ropes_of(length_of(first));
    const auto positions =
        std::span(w.positions).subspan(static_cast<std::size_t>(row), static_cast<std::size_t>(rows));
    for (std::size_t i = 0; i < ropes.size(); ++i) {
      backend_.rotary_table(positions, ropes[i].angles(), w.cos_sin[i].row_range(row, rows));
    }
    first = end;
  }
}

TensorView Transformer::forward(const BatchInput& input, const kv::KvStore& store) {
  begin(input, store);
  return finish(input, begun_.size() - 1);  // others may be on their way
}

void Transformer::begin(const BatchInput& input, const kv::KvStore& store) {
  TransformerWorkspace& w = *workspace_;
  w.logits.release();
  CHECK(store.windowed() == nullptr || input.window_pages.size() == input.sequences.size());
  prepare_workspace(input);
  if (leader_ == nullptr) return compute(input, store, input.number);
  const std::uint64_t number = leader_->step(input, store.number(), states_.ranks(input.hook, layers_->size()));
  with_ranks(*leader_, begun_, [&] { compute(input, store, number); });
}

void Transformer::compute(const BatchInput& input, const kv::KvStore& store, std::uint64_t number) {
  const TimePoint start = Clock::now();
  TransformerWorkspace& w = *workspace_;
  if (shards_.is_first()) {
    embed(input);
  } else {
    link_.take(w.layer.residual, number);
  }
  rotate(input);
  const RowRange own = shards_.layers(layers_->size());
  std::vector<std::int64_t> layers;
  for (std::int64_t i = own.first; i < own.last; ++i) {
    if (input.layers.empty() || std::ranges::binary_search(input.layers, i)) layers.push_back(i);
  }
  Begun begun;
  for (const std::int64_t layer : layers) {
    states_.pass(input, layer, w.layer.residual, begun.states);
    layers_->run(backend_, layer, w.layer, store);
  }
  if (shards_.is_last()) states_.pass(input, layers_->size(), w.layer.residual, begun.states);
  if (shards_.is_last() && !input.logit_rows.empty()) {
    logits_of_ranks(input.logit_rows, w.logits_memory.view(std::ssize(input.logit_rows), spec_.vocab_size),
                    w.adapters.of(kHeadPlace, input.logit_rows));
  }
  backend_.synchronize();
  for (const std::int64_t layer : layers) layers_->count_experts(backend_, layer, begun.experts);
  if (!shards_.is_last()) link_.pass(w.layer.residual, number);
  if (leader_ != nullptr) leader_->computed(leader_->checks_residual() ? key_of_rows(backend_, w.layer.residual) : 0);
  begun_.push_back(std::move(begun));
  walk_->after_step(milliseconds_between(start, Clock::now()));
  if (shards_.rank == 0 && !walk_->damage().empty()) throw DamagedWeights(walk_->damage());
}

TensorView Transformer::finish(const BatchInput& input, std::size_t step) {
  TransformerWorkspace& w = *workspace_;
  const backend::DeviceView logits = w.logits_memory.view(std::ssize(input.logit_rows), spec_.vocab_size);
  const Begun begun = std::move(begun_[step]);
  begun_.erase(begun_.begin() + static_cast<std::ptrdiff_t>(step));
  notes_ = {begun.experts, walk_->rounds()};
  if (leader_ == nullptr) {
    if (shards_.stages() > 1 && shards_.is_last()) link_.answer(logits);
    if (shards_.is_last() && input.sink != nullptr) feed(input, step);
  } else {
    with_ranks(*leader_, begun_, [&] {
      const RankTimer timer = leader_->timer();
      if (!shards_.is_last() && input.hook != nullptr) {
        states_.finish(input, layers_->size(), spec_.hidden_size, begun.states, *leader_, step);
      }
      if (!shards_.is_last() && logits.rows() > 0) take_result(*leader_, step, backend_, logits);
      if (input.sink != nullptr) feed(input, step);
      const RankReport others = leader_->finish_step(step, timer);
      notes_.experts += others.experts;
      notes_.weight_rounds = std::min(notes_.weight_rounds, others.weight_rounds);
      for (const RankReport::Overflow& o : others.overflows) {
        const std::string& encoding = *encodings_.insert(o.encoding).first;
        overflows_.push_back({o.layer, o.head, o.position, o.page, o.of_key, o.value, encoding});
      }
    });
  }
  if (input.hook != nullptr) input.hook->computed(input);
  if (!shards_.is_last() && leader_ == nullptr) return {};
  w.logits = backend_.host_view(logits);
  return w.logits.view();
}

void Transformer::compute_logits(const backend::Norm& norm, std::span<const std::int64_t> rows, backend::DeviceView x,
                                 backend::DeviceView out, std::span<const backend::AdapterRows> adapters) const {
  CHECK(!shards_.is_shared() || held_.embedding != nullptr);
  const backend::DeviceVector& bias = shards_.is_shared() ? held_.head_bias : head_bias_;
  multiply_head(head(), bias.address(), norm, rows, x, out, adapters);
}

void Transformer::logits_of_ranks(std::span<const std::int64_t> rows, backend::DeviceView out,
                                  std::span<const backend::AdapterRows> adapters) {
  multiply_head(*own_head_, head_bias_.address(), final_norm(), rows, workspace_->layer.residual, vocabulary_.own(out),
                adapters);
  vocabulary_.exchange(backend_, out, true);
}

void Transformer::multiply_head(const backend::Linear& head, backend::DeviceAddress bias, const backend::Norm& norm,
                                std::span<const std::int64_t> rows, backend::DeviceView x, backend::DeviceView out,
                                std::span<const backend::AdapterRows> adapters) const {
  if (project_out_) {
    const backend::DeviceView projected = workspace_->projected_memory.view(out.rows(), spec_.embedding_width());
    backend_.linear(*project_out_, {.norm = norm, .rows = rows}, x, projected);
    backend_.linear(head, {.bias = bias, .adapters = adapters}, projected, out);
  } else {
    backend_.linear(head, {.norm = norm, .bias = bias, .rows = rows, .adapters = adapters}, x, out);
  }
  if (spec_.logit_scale != 1.0f || spec_.logit_softcap != 0.0f) {
    backend_.scale({.factor = spec_.logit_scale, .softcap = spec_.logit_softcap}, out);
  }
}

void Transformer::feed(const BatchInput& input, std::size_t step) {
  TransformerWorkspace& w = *workspace_;
  const auto in_blocks = [&](const std::vector<std::int64_t>& rows, std::int64_t columns, const auto& compute,
                             const auto& take) {
    const auto n = static_cast<std::int64_t>(rows.size());
    for (std::int64_t first = 0; first < n; first += kSinkRows) {
      const std::int64_t count = std::min(kSinkRows, n - first);
      const backend::DeviceView block = w.sink_memory.view(count, columns);
      if (shards_.is_last()) {
        compute(std::span(rows).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), block);
        backend_.synchronize();
      } else {
        take_result(*leader_, step, backend_, block);
      }
      take(first, backend_.host_view(block).view());
    }
  };
  in_blocks(
      input.scored_rows, spec_.vocab_size,
      [&](auto rows, backend::DeviceView block) { logits_of_ranks(rows, block, w.adapters.of(kHeadPlace, rows)); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_logits(first, block); });
  in_blocks(
      input.hidden_rows, spec_.hidden_size,
      [&](auto rows, backend::DeviceView block) { backend_.norm(final_norm(), rows, w.layer.residual, block); },
      [&](std::int64_t first, const TensorView& block) { input.sink->take_hidden(first, block); });
}

const backend::Linear* Transformer::outer(OuterPlace place) const noexcept {
  if (place == kEmbeddingPlace) return embedding_.get();
  if (place == kHeadPlace) return own_head_;
  return place == kProjectInPlace ? project_in_.get() : place == kProjectOutPlace ? project_out_.get() : nullptr;
}

std::vector<backend::Linear*> Transformer::linears() const {
  std::vector<backend::Linear*> out = layers_->linears();
  if (shards_.is_last()) out.push_back(own_head_);
  return out;
}

double Transformer::weight_bytes(double rows) const noexcept {
  return (shards_.is_last() ? static_cast<double>(own_head_->packed_bytes()) : 0.0) + layers_->weight_bytes(rows);
}

std::size_t Transformer::weight_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const backend::Linear* linear : weights_) bytes += linear->packed_bytes();
  return bytes;
}

}  // namespace millrace::model

#include "draft/speculators/feature_speculator.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "checkpoint/content_key.h"
#include "draft/draft_rounds.h"
#include "model/blocks/attention.h"
#include "model/weight_loader.h"

namespace millrace::draft {

using model::NormWeights;
using model::WeightLoader;

FeatureSpeculator::FeatureSpeculator(const checkpoint::Checkpoint& checkpoint, SpeculatorSpec spec,
                                     const DraftPlace& place)
    : spec_(std::move(spec)),
      key_(checkpoint::content_key(checkpoint)),
      target_(*place.target),
      backend_(*place.backend) {
  if (spec_.projection.empty()) {
    spec_.model.layers.at(0).get<model::AttentionParams>().input_width = 2 * spec_.model.hidden_size;
  }
  model::check_dimensions(spec_.model, backend_.limits()).or_throw();
  load(checkpoint, place);
  reserve(place);
}

void FeatureSpeculator::load(const checkpoint::Checkpoint& checkpoint, const DraftPlace& place) {
  const model::ModelSpec& m = spec_.model;
  const model::ModelSpec& target = target_.spec();
  const std::int64_t width = m.hidden_size;
  const bool reduces = !spec_.reduction.empty();
  if (width != target.hidden_size && (!reduces || m.names.embedding.empty() || m.names.head.empty())) {
    throw_load_error(ErrorCode::kInvalidArgument, "spec-model", "{}: hidden_size is {}; the model's is {}",
                     checkpoint.path, width, target.hidden_size);
  }
  place.target->hold_vocabulary(*place.checkpoint);
  WeightLoader loader(checkpoint, m);
  const auto linear = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    return backend_.make_linear({loader.linear(name + ".weight", rows, cols)}, place.precision);
  };
  if (!spec_.token_norm.empty()) token_norm_ = NormWeights(loader, spec_.token_norm, m.final_norm, width, backend_);
  if (!spec_.state_norm.empty()) state_norm_ = NormWeights(loader, spec_.state_norm, m.final_norm, width, backend_);
  if (!m.names.final_norm.empty()) final_norm_ = NormWeights(loader, m.names.final_norm, m.final_norm, width, backend_);
  if (!m.names.embedding.empty()) embedding_ = linear(m.names.embedding, target.vocab_size, width);
  if (!m.names.head.empty()) head_ = linear(m.names.head, spec_.head_rows, width);
  if (reduces) reduction_ = linear(spec_.reduction, width, std::ssize(spec_.layers) * target.hidden_size);
  const bool projects = !spec_.projection.empty();
  if (projects) {
    projection_ = linear(spec_.projection, width, 2 * width);
    if (loader.has(spec_.projection + ".bias")) {
      projection_bias_ = backend_.make_vector(loader.vector(spec_.projection + ".bias", width));
    }
  }
  layer_ = std::make_unique<model::LayerStack>(loader, m, backend_, place.precision);
  for (const model::RopeConfig& rope : m.ropes) {
    ropes_.emplace_back(rope, m.context_length, target_.max_length(), std::vector<float>{});
  }
  loader.check_all_used();
}

StateRecipe FeatureSpeculator::recipe() const {
  return {.layers = spec_.layers,
          .normed = spec_.normed_states,
          .reduce = reduction_.get(),
          .width = spec_.model.hidden_size,
          .key = reduction_ == nullptr ? 0 : key_};
}

kv::KvGroups kv_groups(const SpeculatorSpec& spec, const backend::KvFormat& form) {
  return kv::group_layers(model::kv_needs(spec.model), form);
}

std::size_t FeatureSpeculator::weight_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const backend::Linear* linear : layer_->linears()) bytes += linear->packed_bytes();
  for (const auto* linear : {&embedding_, &projection_, &reduction_, &head_}) {
    if (*linear) bytes += (*linear)->packed_bytes();
  }
  return bytes;
}

std::size_t FeatureSpeculator::workspace_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const RowBuffer* rows : {&residual_, &space_, &tables_, &tokens_, &states_, &joined_rows_, &logits_, &passed_}) {
    bytes += rows->bytes();
  }
  return bytes + spread_.size() * sizeof(float);
}

// For the longest pass.
void FeatureSpeculator::reserve(const DraftPlace& place) {
  const model::ModelSpec& m = spec_.model;
  const std::int64_t rows = kCatchUpTokens, with_logits = DraftRounds::sequences(place), width = m.hidden_size;
  residual_.reserve(backend_, rows, width);
  space_columns_ = model::stack_workspace(m).columns;
  space_.reserve(backend_, rows, space_columns_);
  for (const model::Rope& rope : ropes_) table_columns_ += model::RowSpace::padded(rope.dim());
  tables_.reserve(backend_, rows, table_columns_);
  joined_rows_.reserve(backend_, rows, 2 * width);
  if (!token_norm_.empty()) tokens_.reserve(backend_, rows, width);
  if (!state_norm_.empty()) states_.reserve(backend_, rows, width);
  logits_.reserve(backend_, with_logits, (head_ ? *head_ : target_.head()).n());
  if (!spec_.head_tokens.empty()) spread_.resize(static_cast<std::size_t>(with_logits * target_.spec().vocab_size));
  if (spec_.passes_normed) passed_.reserve(backend_, with_logits, width);
  all_rows_.resize(static_cast<std::size_t>(rows));
  std::iota(all_rows_.begin(), all_rows_.end(), 0);
}

// Tokens and states side by side, each behind its norm: the layer's input.
void FeatureSpeculator::join(const model::BatchInput& input, StatePages& states) {
  const auto n = std::ssize(input.tokens);
  const std::int64_t width = spec_.model.hidden_size;
  rows_.input = joined_rows_.get(n, 2 * width);
  const backend::DeviceView of_tokens = rows_.input.columns(spec_.token_first ? 0 : width, width);
  const backend::DeviceView of_states = rows_.input.columns(spec_.token_first ? width : 0, width);
  const std::span<const std::int64_t> all = std::span(all_rows_).first(static_cast<std::size_t>(n));

  const backend::Linear& embedding = embedding_ ? *embedding_ : target_.embedding();
  const backend::DeviceView tokens = token_norm_.empty() ? of_tokens : tokens_.get(n, width);
  backend_.gather(embedding, input.tokens, {}, tokens);
  if (!token_norm_.empty()) backend_.norm(token_norm_.view(), all, tokens, of_tokens);

  const backend::DeviceView read = state_norm_.empty() ? of_states : states_.get(n, width);
  read_slots_.clear();
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      read_slots_.push_back(states.slot(sequence.pages, sequence.first_position + i));
    }
  }
  states.read(read_slots_, read);
  if (!state_norm_.empty()) backend_.norm(state_norm_.view(), all, read, of_states);
  if (projection_) return;
  if (spec_.normed_residual) {
    backend_.norm(state_norm_.view(), all, read, rows_.residual);
    return;
  }
  states.read(read_slots_, rows_.residual);
}

TensorView FeatureSpeculator::forward(const model::BatchInput& input, StatePages& states, const kv::KvStore& store) {
  const model::ModelSpec& m = spec_.model;
  const auto n = std::ssize(input.tokens), with_logits = std::ssize(input.logit_rows);
  rows_.residual = residual_.get(n, m.hidden_size);
  rows_.space = model::RowSpace(space_.get(n, space_columns_).data, n);
  model::RowSpace tables(tables_.get(n, table_columns_).data, n);
  cos_sin_.clear();
  for (const model::Rope& rope : ropes_) cos_sin_.push_back(tables.take(rope.dim()));
  rows_.cos_sin = cos_sin_;
  rows_.sequences = input.sequences;
  host_logits_.release();
  positions_.clear();
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      positions_.push_back(static_cast<std::int32_t>(sequence.first_position + i));
    }
  }
  for (std::size_t i = 0; i < ropes_.size(); ++i) backend_.rotary_table(positions_, ropes_[i].angles(), cos_sin_[i]);
  join(input, states);
  if (projection_) {
    backend_.linear(*projection_, {.bias = projection_bias_.address()}, rows_.input, rows_.residual);
  }
  layer_->run(backend_, 0, rows_, store);
  if (with_logits == 0) {
    backend_.synchronize();
    return {};
  }
  const backend::Linear& head = head_ ? *head_ : target_.head();
  const backend::DeviceView logits = logits_.get(with_logits, head.n());
  if (head_) {
    backend_.linear(*head_, {.norm = final_norm_.view(), .rows = input.logit_rows}, rows_.residual, logits);
  } else {
    target_.compute_logits(final_norm_.view(), input.logit_rows, rows_.residual, logits);
  }
  pass_on(input, states);
  host_logits_ = backend_.host_view(logits);
  return spec_.head_tokens.empty() ? host_logits_.view() : spread(host_logits_.view());
}

// What the rows with logits say of the next state.
void FeatureSpeculator::pass_on(const model::BatchInput& input, StatePages& states) {
  backend::DeviceView passed = rows_.residual;
  std::span<const std::int64_t> rows = input.logit_rows;
  if (spec_.passes_normed) {
    passed = passed_.get(std::ssize(input.logit_rows), spec_.model.hidden_size);
    backend_.norm(final_norm_.view(), input.logit_rows, rows_.residual, passed);
    rows = std::span(all_rows_).first(input.logit_rows.size());
  }
  proposed_slots_.clear();
  std::int64_t at = 0;
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (; at < std::ssize(input.logit_rows); ++at) {
      const std::int64_t row = input.logit_rows[static_cast<std::size_t>(at)], in_sequence = row - sequence.first_row;
      if (in_sequence >= sequence.n_rows) break;
      proposed_slots_.push_back(states.slot(sequence.pages, sequence.first_position + in_sequence + 1));
    }
  }
  states.propose(passed, rows, proposed_slots_);
  backend_.synchronize();
}

TensorView FeatureSpeculator::spread(const TensorView& logits) {
  const TensorView all(spread_.data(), DType::kF32, {logits.rows(), target_.spec().vocab_size});
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    std::fill_n(all.row(i), all.cols(), -std::numeric_limits<float>::infinity());
    for (std::size_t t = 0; t < spec_.head_tokens.size(); ++t) all.row(i)[spec_.head_tokens[t]] = logits.row(i)[t];
  }
  return all;
}

}  // namespace millrace::draft

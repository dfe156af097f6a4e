#include "draft/heads/feature_head.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "draft/draft_rounds.h"
#include "model/blocks/attention.h"
#include "model/weight_loader.h"

namespace millrace::draft {

using model::NormWeights;
using model::WeightLoader;

FeatureHead::FeatureHead(const checkpoint::Checkpoint& checkpoint, FeatureHeadSpec spec, const DraftPlace& place)
    : spec_(std::move(spec)), target_(*place.target), backend_(*place.backend) {
  if (spec_.projection.empty()) {
    spec_.model.layers.at(0).get<model::AttentionParams>().input_width = 2 * spec_.model.hidden_size;
  }
  model::check_dimensions(spec_.model).or_throw();
  load(checkpoint, place);
  reserve(place);
}

void FeatureHead::load(const checkpoint::Checkpoint& checkpoint, const DraftPlace& place) {
  const model::ModelSpec& m = spec_.model;
  const model::ModelSpec& target = target_.spec();
  const std::int64_t width = m.hidden_size;
  const bool reduces = !spec_.reduction.empty();
  if (width != target.hidden_size && (!reduces || m.names.embedding.empty() || m.names.head.empty())) {
    throw_load_error(ErrorCode::kInvalidArgument, "spec-model", "{}: hidden_size is {}; the model's is {}",
                     checkpoint.path, width, target.hidden_size);
  }
  WeightLoader loader(checkpoint, m);
  const auto linear = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    return backend_.make_linear({loader.linear(name + ".weight", rows, cols)}, place.precision);
  };
  if (!spec_.token_norm.empty()) token_norm_ = NormWeights(loader, spec_.token_norm, m);
  if (!spec_.state_norm.empty()) state_norm_ = NormWeights(loader, spec_.state_norm, m);
  if (!m.names.final_norm.empty()) final_norm_ = NormWeights(loader, m.names.final_norm, m);
  if (!m.names.embedding.empty()) embedding_ = linear(m.names.embedding, target.vocab_size, width);
  if (!m.names.head.empty()) head_ = linear(m.names.head, spec_.head_rows, width);
  if (reduces) reduction_ = linear(spec_.reduction, width, std::ssize(spec_.layers) * target.hidden_size);
  const bool projects = !spec_.projection.empty();
  if (projects) {
    projection_ = linear(spec_.projection, width, 2 * width);
    if (loader.has(spec_.projection + ".bias")) projection_bias_ = loader.vector(spec_.projection + ".bias", width);
  }
  layer_ = std::make_unique<model::LayerStack>(loader, m, backend_, place.precision);
  rope_ = std::make_unique<model::Rope>(m.rope_theta, m.rope_dim, m.rope_scaling, m.context_length,
                                        target_.max_length(), std::vector<float>{});
  loader.check_all_used();
}

StateRecipe FeatureHead::recipe() const {
  return {.layers = spec_.layers,
          .normed = spec_.normed_states,
          .reduce = reduction_.get(),
          .width = spec_.model.hidden_size};
}

kv::KvGroups kv_groups(const FeatureHeadSpec& spec, const backend::KvPageForm& form) {
  return kv::group_layers(model::kv_needs(spec.model), form);
}

std::size_t FeatureHead::weight_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const backend::Linear* linear : layer_->linears()) bytes += linear->packed_bytes();
  for (const auto* linear : {&embedding_, &projection_, &reduction_, &head_}) {
    if (*linear) bytes += (*linear)->packed_bytes();
  }
  return bytes;
}

std::size_t FeatureHead::workspace_bytes() const noexcept {
  std::size_t bytes = 0;
  for (const RowBuffer* rows :
       {&residual_, &space_, &cos_sin_, &tokens_, &states_, &joined_rows_, &logits_, &spread_, &passed_}) {
    bytes += rows->bytes();
  }
  return bytes;
}

// For the longest pass.
void FeatureHead::reserve(const DraftPlace& place) {
  const model::ModelSpec& m = spec_.model;
  const std::int64_t rows = kCatchUpTokens, with_logits = DraftRounds::sequences(place), width = m.hidden_size;
  residual_.reserve(backend_, rows, width);
  space_columns_ = model::stack_workspace(m).columns;
  space_.reserve(backend_, rows, space_columns_);
  cos_sin_.reserve(backend_, rows, m.rope_dim);
  joined_rows_.reserve(backend_, rows, 2 * width);
  if (!token_norm_.weight.empty()) tokens_.reserve(backend_, rows, width);
  if (!state_norm_.weight.empty()) states_.reserve(backend_, rows, width);
  logits_.reserve(backend_, with_logits, (head_ ? *head_ : target_.head()).n());
  if (!spec_.head_tokens.empty()) spread_.reserve(backend_, with_logits, target_.spec().vocab_size);
  if (spec_.passes_normed) passed_.reserve(backend_, with_logits, width);
  all_rows_.resize(static_cast<std::size_t>(rows));
  std::iota(all_rows_.begin(), all_rows_.end(), 0);
}

// Tokens and states side by side, each behind its norm: the layer's input.
void FeatureHead::join(const model::BatchInput& input, const StatePages& states) {
  const auto n = std::ssize(input.tokens);
  const std::int64_t width = spec_.model.hidden_size;
  rows_.input = joined_rows_.get(n, 2 * width);
  const TensorView of_tokens = rows_.input.columns(spec_.token_first ? 0 : width, width);
  const TensorView of_states = rows_.input.columns(spec_.token_first ? width : 0, width);
  const std::span<const std::int64_t> all = std::span(all_rows_).first(static_cast<std::size_t>(n));

  const backend::Linear& embedding = embedding_ ? *embedding_ : target_.embedding();
  const TensorView tokens = token_norm_.weight.empty() ? of_tokens : tokens_.get(n, width);
  backend_.gather(embedding, input.tokens, false, tokens);
  if (!token_norm_.weight.empty()) backend_.norm(view(token_norm_), all, tokens, of_tokens);

  const TensorView read = state_norm_.weight.empty() ? of_states : states_.get(n, width);
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      states.read(sequence.pages, sequence.first_position + i, read.row(sequence.first_row + i));
    }
  }
  if (!state_norm_.weight.empty()) backend_.norm(view(state_norm_), all, read, of_states);
  if (projection_) return;
  if (spec_.normed_residual) {
    backend_.norm(view(state_norm_), all, read, rows_.residual);
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(rows_.residual.row(i), read.row(i), static_cast<std::size_t>(width) * sizeof(float));
  }
}

TensorView FeatureHead::forward(const model::BatchInput& input, StatePages& states, const kv::KvStore& store) {
  const model::ModelSpec& m = spec_.model;
  const auto n = std::ssize(input.tokens), with_logits = std::ssize(input.logit_rows);
  rows_.residual = residual_.get(n, m.hidden_size);
  rows_.space = model::RowSpace(space_.get(n, space_columns_).row(0), n);
  rows_.cos_sin = cos_sin_.get(n, m.rope_dim);
  rows_.sequences = input.sequences;
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      rope_->fill(sequence.first_position + i, rows_.cos_sin.row(sequence.first_row + i));
    }
  }
  join(input, states);
  if (projection_) {
    const float* bias = projection_bias_.empty() ? nullptr : projection_bias_.data();
    backend_.linear(*projection_, {.bias = bias}, rows_.input, rows_.residual);
  }
  layer_->run(backend_, 0, rows_, store);
  if (with_logits == 0) {
    backend_.synchronize();
    return {};
  }
  const backend::Linear& head = head_ ? *head_ : target_.head();
  const TensorView logits = logits_.get(with_logits, head.n());
  backend_.linear(head, {.norm = view(final_norm_), .rows = input.logit_rows}, rows_.residual, logits);
  pass_on(input, states);
  return spec_.head_tokens.empty() ? logits : spread(logits);
}

// What the rows with logits say of the next state.
void FeatureHead::pass_on(const model::BatchInput& input, StatePages& states) {
  TensorView passed;
  if (spec_.passes_normed) {
    passed = passed_.get(std::ssize(input.logit_rows), spec_.model.hidden_size);
    backend_.norm(view(final_norm_), input.logit_rows, rows_.residual, passed);
  }
  backend_.synchronize();
  std::int64_t at = 0;
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (; at < std::ssize(input.logit_rows); ++at) {
      const std::int64_t row = input.logit_rows[static_cast<std::size_t>(at)], in_sequence = row - sequence.first_row;
      if (in_sequence >= sequence.n_rows) break;
      const float* state = spec_.passes_normed ? passed.row(at) : rows_.residual.row(row);
      states.propose(sequence.pages, sequence.first_position + in_sequence + 1, state);
    }
  }
}

TensorView FeatureHead::spread(TensorView logits) {
  const TensorView all = spread_.get(logits.rows(), target_.spec().vocab_size);
  for (std::int64_t i = 0; i < logits.rows(); ++i) {
    std::fill_n(all.row(i), all.cols(), -std::numeric_limits<float>::infinity());
    for (std::size_t t = 0; t < spec_.head_tokens.size(); ++t) all.row(i)[spec_.head_tokens[t]] = logits.row(i)[t];
  }
  return all;
}

}  // namespace millrace::draft

#include "draft/heads/state_pages.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.h"

namespace millrace::draft {

std::size_t StatePages::page_bytes(const backend::KvPageForm& form, std::int64_t width) noexcept {
  return static_cast<std::size_t>(form.block_tokens * width) * (form.dtype == DType::kF32 ? 4 : 2);
}

Result<std::unique_ptr<StatePages>> StatePages::create(const DraftPlace& place, StateRecipe recipe) try {
  const auto all = checked_mul(page_bytes(place.form, recipe.width), static_cast<std::size_t>(place.pages));
  if (!all)
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens", "states of {} pages overflow", place.pages);
  auto memory = place.backend->allocate(*all);
  if (!memory) return memory.error();
  return std::unique_ptr<StatePages>(new StatePages(place, std::move(recipe), std::move(*memory)));
} catch (const LoadError& failure) {
  return failure.error();
}

StatePages::StatePages(const DraftPlace& place, StateRecipe recipe, Buffer memory)
    : recipe_(std::move(recipe)),
      target_(*place.target),
      backend_(*place.backend),
      block_tokens_(place.form.block_tokens),
      wide_(place.form.dtype == DType::kF32),
      memory_(std::move(memory)),
      known_(static_cast<std::size_t>(place.pages)),
      rows_(static_cast<std::size_t>(place.step_tokens)) {
  std::iota(rows_.begin(), rows_.end(), 0);
  if (!recipe_.normed) {
    streams_.reserve(backend_, place.step_tokens, target_.spec().hidden_size * std::ssize(recipe_.layers));
  }
  if (recipe_.normed || recipe_.reduce != nullptr) states_.reserve(backend_, place.step_tokens, recipe_.width);
}

std::byte* StatePages::slot(std::span<const kv::BlockId> pages, std::int64_t position) const {
  const std::int64_t page = pages[static_cast<std::size_t>(position / block_tokens_)];
  const std::int64_t index = page * block_tokens_ + position % block_tokens_;
  return memory_.data() + static_cast<std::size_t>(index * recipe_.width) * (wide_ ? 4 : 2);
}

void StatePages::write(std::byte* slot, const float* state) const {
  const auto n = static_cast<std::size_t>(recipe_.width);
  if (wide_) {
    std::memcpy(slot, state, n * sizeof(float));
    return;
  }
  auto* out = reinterpret_cast<std::uint16_t*>(slot);
  for (std::size_t i = 0; i < n; ++i) out[i] = f32_to_bf16(state[i]);
}

void StatePages::read(std::span<const kv::BlockId> pages, std::int64_t position, float* state) const {
  const std::byte* from = slot(pages, position);
  const auto n = static_cast<std::size_t>(recipe_.width);
  if (wide_) {
    std::memcpy(state, from, n * sizeof(float));
    return;
  }
  const auto* in = reinterpret_cast<const std::uint16_t*>(from);
  for (std::size_t i = 0; i < n; ++i) state[i] = bf16_to_f32(in[i]);
}

void StatePages::propose(std::span<const kv::BlockId> pages, std::int64_t position, const float* state) {
  write(slot(pages, position), state);
}

bool StatePages::known(std::span<const kv::BlockId> pages, std::int64_t from, std::int64_t to) const {
  for (std::int64_t first = from / block_tokens_ * block_tokens_; first < to; first += block_tokens_) {
    const auto page = static_cast<std::size_t>(pages[static_cast<std::size_t>(first / block_tokens_)]);
    if (known_[page] < std::min(block_tokens_, to - first)) return false;
  }
  return true;
}

void StatePages::pass(std::int64_t layer, const TensorView& residual) {
  const auto found = std::ranges::find(recipe_.layers, layer);
  if (found == recipe_.layers.end()) return;
  const std::int64_t n = residual.rows(), width = residual.cols();
  taken_ = {};
  if (n > std::ssize(rows_)) return;
  if (recipe_.normed) {
    taken_ = states_.get(n, width);
    backend_.norm(target_.final_norm(), std::span(rows_).first(static_cast<std::size_t>(n)), residual, taken_);
    return;
  }
  const TensorView streams = streams_.get(n, width * std::ssize(recipe_.layers));
  const std::int64_t column = (found - recipe_.layers.begin()) * width;
  backend_.synchronize();
  for (std::int64_t row = 0; row < n; ++row) {
    std::memcpy(streams.row(row) + column, residual.row(row), static_cast<std::size_t>(width) * sizeof(float));
  }
  if (layer != recipe_.layers.back()) return;
  taken_ = streams;
  if (recipe_.reduce == nullptr) return;
  taken_ = states_.get(n, recipe_.width);
  backend_.linear(*recipe_.reduce, {}, streams, taken_);
}

void StatePages::computed(const model::BatchInput& input) {
  backend_.synchronize();
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      const std::int64_t position = sequence.first_position + i;
      const auto page = static_cast<std::size_t>(sequence.pages[static_cast<std::size_t>(position / block_tokens_)]);
      const auto in_page = static_cast<std::int32_t>(position % block_tokens_);
      if (taken_.data == nullptr) {
        known_[page] = std::min(known_[page], in_page);
        continue;
      }
      write(slot(sequence.pages, position), taken_.row(sequence.first_row + i));
      if (in_page <= known_[page]) known_[page] = in_page + 1;
    }
  }
}

void StatePages::copied(kv::BlockId from, kv::BlockId to) {
  const std::size_t bytes = memory_.size() / known_.size();  // of a page
  const auto at = [&](kv::BlockId page) { return memory_.data() + static_cast<std::size_t>(page) * bytes; };
  std::memcpy(at(to), at(from), bytes);
  known_[static_cast<std::size_t>(to)] = known_[static_cast<std::size_t>(from)];
}

}  // namespace millrace::draft

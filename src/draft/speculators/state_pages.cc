#include "draft/speculators/state_pages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/checked.h"
#include "base/checksum.h"

namespace millrace::draft {

std::size_t StatePages::page_bytes(const backend::KvFormat& form, std::int64_t width) noexcept {
  return static_cast<std::size_t>(form.block_tokens * width) * (form.encoding == "f32" ? 4 : 2);
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

StatePages::StatePages(const DraftPlace& place, StateRecipe recipe, backend::DeviceBuffer memory)
    : recipe_(std::move(recipe)),
      target_(*place.target),
      backend_(*place.backend),
      block_tokens_(place.form.block_tokens),
      wide_(place.form.encoding == "f32"),
      memory_(std::move(memory)),
      known_(static_cast<std::size_t>(place.pages)),
      rows_(static_cast<std::size_t>(place.step_tokens)) {
  companion_ = {.key = checksum(fmt::format("states {} {} {} {} {:016x}", fmt::join(recipe_.layers, ","),
                                            recipe_.normed, recipe_.width, wide_, recipe_.key)),
                .page_bytes = bytes_each() + sizeof(std::int32_t)};
  std::iota(rows_.begin(), rows_.end(), 0);
  if (!recipe_.normed) {
    streams_.reserve(backend_, place.step_tokens, target_.spec().hidden_size * std::ssize(recipe_.layers));
  }
  if (recipe_.normed || recipe_.reduce != nullptr) states_.reserve(backend_, place.step_tokens, recipe_.width);
}

std::int64_t StatePages::slot(std::span<const kv::BlockId> pages, std::int64_t position) const noexcept {
  const std::int64_t page = pages[static_cast<std::size_t>(position / block_tokens_)];
  return page * block_tokens_ + position % block_tokens_;
}

backend::DeviceView StatePages::table() const {
  return memory_.view(std::ssize(known_) * block_tokens_, recipe_.width, wide_ ? DType::kF32 : DType::kBF16);
}

void StatePages::read(std::span<const std::int64_t> slots, backend::DeviceView states) const {
  backend_.load_rows(table(), slots, states);
}

void StatePages::propose(backend::DeviceView x, std::span<const std::int64_t> rows,
                         std::span<const std::int64_t> slots) {
  backend_.store_rows(x, rows, slots, table());
}

bool StatePages::known(std::span<const kv::BlockId> pages, std::int64_t from, std::int64_t to) const {
  for (std::int64_t first = from / block_tokens_ * block_tokens_; first < to; first += block_tokens_) {
    const auto page = static_cast<std::size_t>(pages[static_cast<std::size_t>(first / block_tokens_)]);
    if (known_[page] < std::min(block_tokens_, to - first)) return false;
  }
  return true;
}

void StatePages::pass(std::int64_t layer, const backend::DeviceView& residual) {
  const auto found = std::ranges::find(recipe_.layers, layer);
  if (found == recipe_.layers.end()) return;
  const std::int64_t n = residual.rows(), width = residual.cols();
  taken_ = {};
  if (n > std::ssize(rows_)) return;
  const std::span<const std::int64_t> all = std::span(rows_).first(static_cast<std::size_t>(n));
  if (recipe_.normed) {
    taken_ = states_.get(n, width);
    backend_.norm(target_.final_norm(), all, residual, taken_);
    return;
  }
  const backend::DeviceView streams = streams_.get(n, width * std::ssize(recipe_.layers));
  backend_.load_rows(residual, all, streams.columns((found - recipe_.layers.begin()) * width, width));
  if (layer != recipe_.layers.back()) return;
  taken_ = streams;
  if (recipe_.reduce == nullptr) return;
  taken_ = states_.get(n, recipe_.width);
  backend_.linear(*recipe_.reduce, {}, streams, taken_);
}

void StatePages::computed(const model::BatchInput& input) {
  slots_.clear();
  for (const backend::SequenceRows& sequence : input.sequences) {
    for (std::int64_t i = 0; i < sequence.n_rows; ++i) {
      const std::int64_t position = sequence.first_position + i;
      const auto page = static_cast<std::size_t>(sequence.pages[static_cast<std::size_t>(position / block_tokens_)]);
      const auto in_page = static_cast<std::int32_t>(position % block_tokens_);
      if (!taken_.data) {
        known_[page] = std::min(known_[page], in_page);
        continue;
      }
      slots_.push_back(slot(sequence.pages, position));
      if (in_page <= known_[page]) known_[page] = in_page + 1;
    }
  }
  if (taken_.data) backend_.store_rows(taken_, std::span(rows_).first(slots_.size()), slots_, table());
  backend_.synchronize();
}

void StatePages::copied(kv::BlockId from, kv::BlockId to) {
  backend_.copy(at(from), at(to), bytes_each());
  known_[static_cast<std::size_t>(to)] = known_[static_cast<std::size_t>(from)];
}

void StatePages::read_companion(kv::BlockId page, std::span<std::byte> out) const {
  std::memcpy(out.data(), &known_[static_cast<std::size_t>(page)], sizeof(std::int32_t));
  backend_.download(at(page), out.subspan(sizeof(std::int32_t)));
}

void StatePages::write_companion(kv::BlockId page, std::span<const std::byte> in) {
  std::int32_t known = 0;
  std::memcpy(&known, in.data(), sizeof(known));
  known_[static_cast<std::size_t>(page)] = known >= 0 && known <= block_tokens_ ? known : 0;
  backend_.upload(in.subspan(sizeof(known)), at(page));
}

}  // namespace millrace::draft

#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "draft/drafter.h"
#include "draft/speculators/row_buffer.h"
#include "kv/page_listener.h"
#include "model/batch_input.h"

namespace millrace::draft {

// Which hidden states of the target, each [width], a head reads.
struct StateRecipe {
  // Indices of the target's layers whose input is read; the number of layers stands for the output of the last.
  // Ascending.
  std::vector<std::int64_t> layers;
  bool normed = false;                      // whether the target's final norm is applied; then there is one layer
  const backend::Linear* reduce = nullptr;  // projects the states of all layers side by side to `width`; null: none
  std::int64_t width = 0;
  std::uint64_t key = 0;  // of the weights of `reduce`; 0 without
};

// One state for each token in the target's pages. States are shared, copied and lost with the pages' keys and values,
// so that heads need not follow pages. bf16, or f32 if the pages are f32. States that heads predict after an answer's
// last token are also here, until the target writes its own. Engine thread only.
class StatePages final : public model::HiddenStateHook, public kv::PageListener {
 public:
  // kResourceExhausted where the machine lacks the memory.
  static Result<std::unique_ptr<StatePages>> create(const DraftPlace& place, StateRecipe recipe);
  // Bytes for one page of the target.
  static std::size_t page_bytes(const backend::KvFormat& form, std::int64_t width) noexcept;

  // Whether the target computed the states of positions [from, to) after their pages were last written from outside.
  bool known(std::span<const kv::BlockId> pages, std::int64_t from, std::int64_t to) const;
  // The index of the slot with the state of that position.
  std::int64_t slot(std::span<const kv::BlockId> pages, std::int64_t position) const noexcept;
  // Queues a copy of the slots' states to `states` [slots, width] on the backend. `slots` must stay until the backend
  // has synchronized.
  void read(std::span<const std::int64_t> slots, backend::DeviceView states) const;
  // Queues a copy of the rows `rows` of x [T, width] to the slots, as states that a head predicted.
  void propose(backend::DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots);
  std::size_t bytes() const noexcept { return memory_.size(); }
  std::size_t workspace_bytes() const noexcept { return streams_.bytes() + states_.bytes(); }

  std::span<const std::int64_t> layers() const noexcept override { return recipe_.layers; }
  void pass(std::int64_t layer, const backend::DeviceView& residual) override;
  void computed(const model::BatchInput& input) override;
  void copied(kv::BlockId from, kv::BlockId to) override;
  void rewritten(kv::BlockId page) override { known_[static_cast<std::size_t>(page)] = 0; }
  // The page's states, and how many of them are known.
  kv::PageCompanion companion() const noexcept override { return companion_; }
  void read_companion(kv::BlockId page, std::span<std::byte> out) const override;
  void write_companion(kv::BlockId page, std::span<const std::byte> in) override;

 private:
  StatePages(const DraftPlace& place, StateRecipe recipe, backend::DeviceBuffer memory);
  backend::DeviceView table() const;                                                  // [pages * B, width]
  std::size_t bytes_each() const noexcept { return memory_.size() / known_.size(); }  // of a page
  backend::DeviceAddress at(kv::BlockId page) const {
    return memory_.address() + static_cast<std::size_t>(page) * bytes_each();
  }

  StateRecipe recipe_;
  model::Transformer& target_;
  backend::Backend& backend_;
  std::int64_t block_tokens_;
  bool wide_;                     // f32
  backend::DeviceBuffer memory_;  // [pages, B, width]
  kv::PageCompanion companion_;
  std::vector<std::int32_t> known_;  // of each page, how many tokens from its first on have a state of the target's
  RowBuffer streams_, states_;
  std::vector<std::int64_t> rows_;   // 0, 1, 2 ...
  std::vector<std::int64_t> slots_;  // of the step's rows
  backend::DeviceView taken_;        // [T, width], of the step under way; without data where it is too long
};

}  // namespace millrace::draft

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

// Which of the target's states [width] a head goes on from.
struct StateRecipe {
  // The residual streams that count, as these layers find them; the number of layers: behind the last. Ascending.
  std::vector<std::int64_t> layers;
  bool normed = false;                      // by the target's final norm; one stream
  const backend::Linear* reduce = nullptr;  // of the streams side by side, if any
  std::int64_t width = 0;
};

// One state for each token in the target's pages: shared, copied and lost as its keys and values are, so that heads
// need not know how a sequence came by its pages. In bf16, or in f32 beside pages of f32. States that heads predict
// behind an answer's last token lie there too, until the target writes its own.
class StatePages final : public model::HiddenStateHook, public kv::PageListener {
 public:
  // kResourceExhausted where the machine has not the memory.
  static Result<std::unique_ptr<StatePages>> create(const DraftPlace& place, StateRecipe recipe);
  // Bytes of one page.
  static std::size_t page_bytes(const backend::KvFormat& form, std::int64_t width) noexcept;

  // Whether the target computed the states at positions [from, to) since their pages were last written from outside.
  bool known(std::span<const kv::BlockId> pages, std::int64_t from, std::int64_t to) const;
  // Where the state of a position is.
  std::int64_t slot(std::span<const kv::BlockId> pages, std::int64_t position) const noexcept;
  // Operations of the backend: what the spans hold stays as it is until it has synchronized. states [slots, width].
  void read(std::span<const std::int64_t> slots, backend::DeviceView states) const;
  // Rows `rows` of x [T, width] are drafted states of the slots.
  void propose(backend::DeviceView x, std::span<const std::int64_t> rows, std::span<const std::int64_t> slots);
  std::size_t bytes() const noexcept { return memory_.size(); }
  std::size_t workspace_bytes() const noexcept { return streams_.bytes() + states_.bytes(); }

  void pass(std::int64_t layer, const backend::DeviceView& residual) override;
  void computed(const model::BatchInput& input) override;
  void copied(kv::BlockId from, kv::BlockId to) override;
  void rewritten(kv::BlockId page) override { known_[static_cast<std::size_t>(page)] = 0; }

 private:
  StatePages(const DraftPlace& place, StateRecipe recipe, backend::DeviceBuffer memory);
  backend::DeviceView table() const;  // [pages * B, width]

  StateRecipe recipe_;
  model::Transformer& target_;
  backend::Backend& backend_;
  std::int64_t block_tokens_;
  bool wide_;                        // f32
  backend::DeviceBuffer memory_;     // [pages, B, width]
  std::vector<std::int32_t> known_;  // of each page, how many tokens from its first on have a state of the target's
  RowBuffer streams_, states_;
  std::vector<std::int64_t> rows_;   // 0, 1, 2 ...
  std::vector<std::int64_t> slots_;  // of the step's rows
  backend::DeviceView taken_;        // [T, width], of the step under way; without data where it is too long
};

}  // namespace millrace::draft

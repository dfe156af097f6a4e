#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/result.h"
#include "draft/drafter.h"
#include "engine/step_input.h"
#include "kv/page_device.h"
#include "model/adapters/adapter_claim.h"

namespace millrace::engine {

// A model and the memory of its pages, wherever they are: runs steps in the order of their launch. The simulator's has
// no model at all. One thread.
class Executor {
 public:
  virtual ~Executor() = default;
  virtual std::int64_t vocab_size() const noexcept = 0;
  virtual std::int64_t max_length() const noexcept = 0;  // tokens of a sequence
  // By which positions of a sequence that may grow to so many tokens are rotated (StepInput::Rows::rope_length).
  virtual std::int64_t rope_length(std::int64_t) const noexcept { return 0; }
  virtual std::int64_t block_tokens() const noexcept = 0;
  virtual std::int32_t pages() const noexcept = 0;
  // Where layers with a window have window pages (PageDevice::windowed()): the largest of their windows, and how many.
  virtual std::int64_t window() const noexcept { return 0; }
  virtual std::int32_t window_pages() const noexcept { return 0; }
  virtual kv::PageDevice& device() noexcept = 0;

  // What proposes tokens beside this executor's model, with what it keeps beside its pages and sees of its states; the
  // executor owns it. Between steps; null, and at first: none.
  virtual void set_drafter(std::unique_ptr<draft::Drafter> drafter) { drafter_ = std::move(drafter); }
  virtual draft::Drafter* drafter() noexcept { return drafter_.get(); }

  // The adapter that steps find for a request: its own, or another one of the same key. Null: it has none.
  virtual std::shared_ptr<const model::Adapter> adapter(const AdapterUse&) const { return nullptr; }

  // Brings an adapter that steps will name to wherever the model has parts; may wait for files. Not during wait().
  // kUnavailable naming lora_name where it cannot be had there, and steps must not name it.
  virtual Result<void> share(const model::Adapter&) { return {}; }

  // A claim on the adapters with those keys, for a request that waits. Null: it has not all of them, or they are there
  // for good.
  virtual std::unique_ptr<model::AdapterClaim> claim(const std::vector<AdapterUse>&) const { return nullptr; }

  // Launches that may be outstanding. The pages of a launched step stay as they are until it is waited for.
  virtual int depth() const noexcept { return 1; }
  // Whether it samples rows and feeds the tokens to later steps (StepInput::Sampled, Fed), so that an answer can have a
  // token in each of the outstanding ones.
  virtual bool feeds() const noexcept { return depth() > 1; }
  virtual void launch(StepInput input) = 0;
  // Does work now that takes the processors of steps but is none: a drafting model's passes.
  virtual void run_exclusive(const std::function<void()>& work) { work(); }
  // item(i) for each i in [0, items), on the calling thread and on whatever others there are, between wait() and the
  // next launch(). The items know nothing of each other; item must not throw.
  virtual void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) {
    for (std::int64_t i = 0; i < items; ++i) item(i);
  }
  // What came of the oldest launch, or why the device failed: then nothing of what the step wrote can be trusted, and
  // with kUnavailable no page at all; see recover().
  virtual Result<StepResult> wait() = 0;
  // After wait() has failed and nothing is launched: makes the device work again, with the contents of all pages lost.
  // An error where that cannot be.
  virtual Result<void> recover() { return make_error(ErrorCode::kUnavailable, "", "the device has failed"); }

 private:
  std::unique_ptr<draft::Drafter> drafter_;
};

}  // namespace millrace::engine

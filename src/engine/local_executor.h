#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "engine/executor.h"
#include "engine/fed_tokens.h"
#include "engine/step_sink.h"
#include "kv/backed_pages.h"
#include "kv/page_listener.h"
#include "model/adapters/lora_set.h"
#include "model/transformer.h"

namespace millrace::engine {

// A transformer on this process's device, or that and the ranks with which it is shared. Where the model has several
// stages, launch() computes the first one of a step while the others compute earlier steps, and as many steps are in
// flight as there are stages.
class LocalExecutor final : public Executor {
 public:
  // Pages for `kv_cache_tokens` tokens, 0 = one sequence of the model's greatest length. Where layers have a window,
  // they get so many `window_pages`, 0 = one for each page, but no fewer than a sequence needs. Model and backend must
  // outlive it. kResourceExhausted if the pages do not fit. It computes in wait(), on the processors that the engine's
  // thread needs too, so that more steps in flight than `depth` 1 gain nothing (docs/adr/025); they give the same bits.
  // Of a model with stages it says nothing.
  static Result<std::unique_ptr<LocalExecutor>> create(model::Transformer& model, backend::Backend& backend,
                                                       const backend::KvFormat& kv_pages, std::int64_t kv_cache_tokens,
                                                       int depth = 1, std::int32_t window_pages = 0);

  // The adapters that rows of steps name; null, and at first: none.
  void set_adapters(std::shared_ptr<const model::LoraSet> adapters) { adapters_ = std::move(adapters); }
  // The same, of a store, which brings them in for requests that wait.
  void set_adapters(std::shared_ptr<model::AdapterStore> store) {
    adapters_ = store->set();
    store_of_adapters_ = std::move(store);
  }
  std::shared_ptr<const model::Adapter> adapter(const AdapterUse& use) const override;
  Result<void> share(const model::Adapter& adapter) override;
  std::unique_ptr<model::AdapterClaim> claim(const std::vector<AdapterUse>& adapters) const override;

  // The memory behind the pages, which has a thread of its own where it is asked to follow their use.
  kv::BackedPages& memory() noexcept { return backed_; }

  std::int64_t vocab_size() const noexcept override { return model_.spec().vocab_size; }
  std::int64_t max_length() const noexcept override { return model_.max_length(); }
  std::int64_t rope_length(std::int64_t tokens) const noexcept override { return model_.rope_length(tokens); }
  std::int64_t block_tokens() const noexcept override { return store_.block_tokens(); }
  std::int32_t pages() const noexcept override { return pages_; }
  std::int64_t window() const noexcept override { return window_; }
  std::int32_t window_pages() const noexcept override {
    return store_.windowed() == nullptr ? 0 : store_.windowed()->pages();
  }
  kv::PageDevice& device() noexcept override { return followed_; }
  const kv::KvStore& store() const noexcept { return store_; }
  // The drafter hears of the pages, and sees the states of the steps launched from now on.
  void set_drafter(std::unique_ptr<draft::Drafter> drafter) override;
  int depth() const noexcept override { return std::max(depth_, model_.part().stages()); }
  bool feeds() const noexcept override { return depth_ > 1; }
  void launch(StepInput input) override;
  void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) override {
    backend_.for_each(items, item);
  }
  // Fails where the step wants memory that there is not.
  Result<StepResult> wait() override;
  // What recover() does, where the model has parts elsewhere; throws LoadError.
  void set_recovery(std::function<void()> recovery) { recovery_ = std::move(recovery); }
  Result<void> recover() override;

 private:
  LocalExecutor(model::Transformer& model, backend::Backend& backend, kv::KvStore store, std::int32_t pages,
                std::int64_t window, int depth)
      : model_(model),
        backend_(backend),
        store_(std::move(store)),
        pages_(pages),
        window_(window),
        depth_(depth),
        fed_(depth) {}
  struct Launched {  // a step, with what the model gets of it
    explicit Launched(StepInput of) : step(std::move(of)) {}
    StepInput step;
    StepResult result = {};
    std::unique_ptr<StepSink> sink = {};
    model::BatchInput batch = {};
    std::optional<Error> failure = {};  // it has not begun, or its ranks are gone
  };
  void make_batch(Launched& launched);
  StepResult finish(Launched& launched);
  Error fail(const Error& why);
  void add_adapters(const StepInput::Rows& rows, model::BatchInput& input) const;

  model::Transformer& model_;
  backend::Backend& backend_;
  kv::KvStore store_;
  kv::BackedPages backed_{store_};
  kv::MirroredPages followed_{backed_};
  std::int32_t pages_;
  std::int64_t window_;
  int depth_;
  std::deque<std::unique_ptr<Launched>> launched_;
  FedTokens fed_;
  std::shared_ptr<const model::LoraSet> adapters_;
  std::shared_ptr<model::AdapterStore> store_of_adapters_;  // null: they are there for good
  std::function<void()> recovery_;                          // empty: there is none
};

}  // namespace millrace::engine

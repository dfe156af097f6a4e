#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "engine/executor.h"

namespace millrace::engine {

// Another executor as it is: the base of those that change or watch a part of it.
class ForwardingExecutor : public Executor {
 public:
  explicit ForwardingExecutor(std::unique_ptr<Executor> inner) : inner_(std::move(inner)) {}

  std::int64_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::int64_t max_length() const noexcept override { return inner_->max_length(); }
  std::int64_t rope_length(std::int64_t tokens) const noexcept override { return inner_->rope_length(tokens); }
  std::int64_t block_tokens() const noexcept override { return inner_->block_tokens(); }
  std::int32_t pages() const noexcept override { return inner_->pages(); }
  std::int64_t window() const noexcept override { return inner_->window(); }
  std::int32_t window_pages() const noexcept override { return inner_->window_pages(); }
  kv::PageDevice& device() noexcept override { return inner_->device(); }
  void set_drafter(std::unique_ptr<draft::Drafter> drafter) override { inner_->set_drafter(std::move(drafter)); }
  draft::Drafter* drafter() noexcept override { return inner_->drafter(); }
  std::shared_ptr<const model::Adapter> adapter(const AdapterUse& use) const override { return inner_->adapter(use); }
  Result<void> share(const model::Adapter& adapter) override { return inner_->share(adapter); }
  std::unique_ptr<model::AdapterClaim> claim(const std::vector<AdapterUse>& adapters) const override {
    return inner_->claim(adapters);
  }
  int depth() const noexcept override { return inner_->depth(); }
  bool feeds() const noexcept override { return inner_->feeds(); }
  void launch(StepInput input) override { inner_->launch(std::move(input)); }
  void run_exclusive(const std::function<void()>& work) override { inner_->run_exclusive(work); }
  void for_each(std::int64_t items, const std::function<void(std::int64_t)>& item) override {
    inner_->for_each(items, item);
  }
  Result<StepResult> wait() override { return inner_->wait(); }
  Result<void> recover() override { return inner_->recover(); }

 private:
  std::unique_ptr<Executor> inner_;
};

}  // namespace millrace::engine

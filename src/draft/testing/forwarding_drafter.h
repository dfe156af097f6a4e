#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "draft/drafter.h"

namespace millrace::draft {

// Another drafter as it is: the base of those that change or watch a part of it.
class ForwardingDrafter : public Drafter {
 public:
  explicit ForwardingDrafter(std::unique_ptr<Drafter> inner) : inner_(std::move(inner)) {}

  void draft(std::span<Task> tasks) override { inner_->draft(tasks); }
  void ended(std::uint64_t sequence, std::string_view scope, std::span<const std::int32_t> tokens) override {
    inner_->ended(sequence, scope, tokens);
  }
  bool computes() const noexcept override { return inner_->computes(); }
  kv::PageListener* listener() noexcept override { return inner_->listener(); }
  model::HiddenStateHook* hook() noexcept override { return inner_->hook(); }
  DraftMemory memory() const noexcept override { return inner_->memory(); }

 protected:
  Drafter& inner() noexcept { return *inner_; }

 private:
  std::unique_ptr<Drafter> inner_;
};

}  // namespace millrace::draft

#pragma once

#include <memory>
#include <utility>

#include "engine/executor.h"
#include "engine/fair_turn.h"

namespace millrace::engine {

// Computes when it is its turn: for executors that do so while they are waited for, on processors that other engines
// share.
class TurnExecutor final : public Executor {
 public:
  TurnExecutor(std::unique_ptr<Executor> inner, std::shared_ptr<FairTurn> turn)
      : inner_(std::move(inner)), turn_(std::move(turn)), member_(*turn_) {}

  std::int64_t vocab_size() const noexcept override { return inner_->vocab_size(); }
  std::int64_t max_length() const noexcept override { return inner_->max_length(); }
  std::int64_t block_tokens() const noexcept override { return inner_->block_tokens(); }
  std::int32_t pages() const noexcept override { return inner_->pages(); }
  kv::PageDevice& device() noexcept override { return inner_->device(); }
  int depth() const noexcept override { return inner_->depth(); }
  void launch(model::BatchInput input) override { inner_->launch(std::move(input)); }
  Result<TensorView> wait() override {
    struct Turn {
      FairTurn::Member& member;
      explicit Turn(FairTurn::Member& m) : member(m) { member.begin(); }
      ~Turn() { member.end(); }
      Turn(const Turn&) = delete;
      Turn& operator=(const Turn&) = delete;
    } const turn(member_);
    return inner_->wait();
  }
  const FairTurn::Member& turns() const noexcept { return member_; }

 private:
  std::unique_ptr<Executor> inner_;
  std::shared_ptr<FairTurn> turn_;
  FairTurn::Member member_;
};

}  // namespace millrace::engine

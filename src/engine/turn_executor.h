#pragma once

#include <memory>
#include <utility>

#include "engine/forwarding_executor.h"
#include "engine/turn_arbiter.h"

namespace millrace::engine {

// Takes a turn of the arbiter for each step and each run_exclusive(). For executors that compute inside wait(), on
// processors that they share with other engines. `turn` is shared by the executors of all these engines.
class TurnExecutor final : public ForwardingExecutor {
 public:
  TurnExecutor(std::unique_ptr<Executor> inner, std::shared_ptr<TurnArbiter> turn)
      : ForwardingExecutor(std::move(inner)), turn_(std::move(turn)), member_(*turn_) {}

  void run_exclusive(const std::function<void()>& work) override {
    const Turn turn(member_);
    ForwardingExecutor::run_exclusive(work);
  }
  Result<StepResult> wait() override {
    const Turn turn(member_);
    return ForwardingExecutor::wait();
  }
  const TurnArbiter::Member& turns() const noexcept { return member_; }

 private:
  struct Turn {
    TurnArbiter::Member& member;
    explicit Turn(TurnArbiter::Member& m) : member(m) { member.begin(); }
    ~Turn() { member.end(); }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
  };

  std::shared_ptr<TurnArbiter> turn_;
  TurnArbiter::Member member_;
};

}  // namespace millrace::engine

#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/forwarding_executor.h"
#include "model/weight_walk.h"

namespace millrace::engine {

// Fails in some steps, whose results it throws away. recover() leaves no page as it was: each byte is `nonsense`, 0xff
// for what are no numbers.
class FailingExecutor : public ForwardingExecutor {
 public:
  FailingExecutor(std::unique_ptr<Executor> inner, std::set<int> failing, bool recovers = true,
                  std::byte nonsense = std::byte{0xff})
      : ForwardingExecutor(std::move(inner)), failing_(std::move(failing)), recovers_(recovers), nonsense_(nonsense) {}
  void fail_next(const char* param) {
    failing_.insert(steps_ + 1);
    param_ = param;
  }
  void damage_own_weights() { damaged_ = true; }

  Result<StepResult> wait() override {
    auto result = ForwardingExecutor::wait();
    if (damaged_) throw model::DamagedWeights("weight w has changed");
    if (!failing_.contains(++steps_)) return result;
    return make_error(ErrorCode::kUnavailable, param_, "rank 1 has ended");
  }
  Result<void> recover() override {
    ++recoveries_;
    const std::vector<std::byte> lost(device().page_bytes(), nonsense_);
    for (kv::BlockId page = 0; page < pages(); ++page) device().write(page, lost);
    if (recovers_) return {};
    return make_error(ErrorCode::kUnavailable, "rank", "rank 1 does not start");
  }
  int recoveries() const noexcept { return recoveries_; }

 private:
  std::set<int> failing_;
  bool recovers_;
  std::byte nonsense_;
  std::string param_ = "rank";
  bool damaged_ = false;
  int steps_ = 0, recoveries_ = 0;
};

}  // namespace millrace::engine

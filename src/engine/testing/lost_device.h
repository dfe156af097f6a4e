#pragma once

#include <cstddef>
#include <vector>

#include "engine/forwarding_executor.h"

namespace millrace::engine {

// Fails one step, and has lost all pages then.
class LostDevice final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  void lose_after(int steps) noexcept { left_ = steps; }  // counted from now on
  Result<StepResult> wait() override {
    auto result = ForwardingExecutor::wait();
    if (--left_ == 0) return make_error(ErrorCode::kUnavailable, "", "the device is lost");
    return result;
  }
  Result<void> recover() override {
    const std::vector<std::byte> noise(device().page_bytes(), std::byte{0x3c});
    for (kv::BlockId page = 0; page < pages(); ++page) device().write(page, noise);
    return {};
  }

 private:
  int left_ = 0;
};

}  // namespace millrace::engine

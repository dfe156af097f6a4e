#pragma once

#include "backend/forwarding_backend.h"
#include "base/env.h"

namespace millrace::backend {

// Forwards every call and adds up the time of synchronize(). A device that records its operations executes them all in
// there, so the rest of a step is time outside the kernels.
class TimedBackend final : public backend::ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  // Milliseconds in synchronize() so far.
  double milliseconds() const noexcept { return milliseconds_; }

  void synchronize() override {
    const TimePoint start = Clock::now();
    ForwardingBackend::synchronize();
    milliseconds_ += milliseconds_between(start, Clock::now());
  }

 private:
  double milliseconds_ = 0.0;
};

}  // namespace millrace::backend

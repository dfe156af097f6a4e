#pragma once

#include "backend/forwarding_backend.h"
#include "base/env.h"

namespace millrace::backend {

// A backend that passes everything on and adds up the time of synchronize(), in which a device that records its
// operations does all of them: the rest of a step is spent outside the kernels.
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

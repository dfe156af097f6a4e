#pragma once

#include <atomic>

#include "server/wake_list.h"

namespace millrace::server {

// Tells all open requests that the server gives up, as an engine has failed. A failed engine may never send another
// output, so requests that wait for one are woken. Stays raised. Thread-safe.
class FailureSignal : public WakeList {
 public:
  bool raised() const noexcept { return raised_; }
  void raise() {
    raised_ = true;
    wake_all();
  }

 private:
  std::atomic<bool> raised_ = false;
};

}  // namespace millrace::server

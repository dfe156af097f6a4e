#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "http/message.h"

namespace millrace::server {

// Tells all open requests that the server gives up, as an engine has failed. A failed engine may never send another
// output, so requests that wait for one are woken. Stays raised. Thread-safe.
class FailureSignal {
 public:
  // A registration: raise() calls `wake` while this object exists. The signal must outlive it.
  class Listed {
   public:
    Listed(FailureSignal& signal, http::Wake wake) : signal_(signal), number_(signal.add(std::move(wake))) {}
    ~Listed() { signal_.remove(number_); }
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

   private:
    FailureSignal& signal_;
    const std::uint64_t number_;
  };

  bool raised() const noexcept { return raised_; }
  // Wakes every Listed. `wake` functions run under the signal's lock, so they must not add or remove a Listed.
  void raise() {
    raised_ = true;
    const std::lock_guard lock(mutex_);
    for (const auto& [number, wake] : wakes_) wake();
  }

 private:
  std::uint64_t add(http::Wake wake) {
    const std::lock_guard lock(mutex_);
    wakes_.emplace(++last_, std::move(wake));
    return last_;
  }
  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    wakes_.erase(number);
  }

  std::atomic<bool> raised_ = false;
  std::mutex mutex_;  // guards last_ and wakes_
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, http::Wake> wakes_;
};

}  // namespace millrace::server

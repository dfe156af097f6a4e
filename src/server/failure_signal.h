#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "http/message.h"

namespace millrace::server {

// Raised once, when the server gives up because an engine has failed. Wakes everything that waits for an engine, which
// may never answer. Thread-safe.
class FailureSignal {
 public:
  // Registers a wake function for the lifetime of this object.
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
  std::mutex mutex_;  // guards the members below
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, http::Wake> wakes_;
};

}  // namespace millrace::server

#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>

#include "http/message.h"

namespace millrace::server {

// Open requests that something may happen to that no stream tells them of. Thread-safe.
class WakeList {
 public:
  // A registration: wake_all() calls `wake` while this object exists. The list must outlive it.
  class Listed {
   public:
    Listed(WakeList& list, http::Wake wake) : list_(list), number_(list.add(std::move(wake))) {}
    ~Listed() { list_.remove(number_); }
    Listed(const Listed&) = delete;
    Listed& operator=(const Listed&) = delete;

   private:
    WakeList& list_;
    const std::uint64_t number_;
  };

  // Wakes every Listed. `wake` functions run under the list's lock, so they must not add or remove a Listed.
  void wake_all() {
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

  std::mutex mutex_;  // guards last_ and wakes_
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, http::Wake> wakes_;
};

}  // namespace millrace::server

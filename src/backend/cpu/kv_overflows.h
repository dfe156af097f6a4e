#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "backend/kv_format.h"

namespace millrace::backend::cpu {

// What did not fit its pages, from any thread. It keeps no more than kMost.
class KvOverflows {
 public:
  static constexpr std::size_t kMost = 64;
  void add(const KvOverflow& overflow) {
    const std::lock_guard lock(mutex_);
    if (all_.size() < kMost) all_.push_back(overflow);
  }
  std::vector<KvOverflow> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<KvOverflow> all_;
};

}  // namespace millrace::backend::cpu

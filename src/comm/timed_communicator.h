#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "comm/forwarding_communicator.h"

namespace millrace::comm {

// Measures how long this rank waits for others: two looks at the clock, about 50 ns, for each exchange.
class TimedCommunicator final : public ForwardingCommunicator {
 public:
  using ForwardingCommunicator::ForwardingCommunicator;

  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override {
    const Span span(waited_);
    return inner_->await(block, timeout);
  }
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override {
    const Span span(waited_);
    return inner_->collect(rank, timeout);
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override {
    const Span span(waited_);
    return inner_->take(timeout);
  }
  std::chrono::nanoseconds waited() const noexcept override {
    return std::chrono::nanoseconds(waited_.load(std::memory_order_relaxed));
  }

 private:
  using Clock = std::chrono::steady_clock;
  class Span {
   public:
    explicit Span(std::atomic<std::int64_t>& sum) noexcept : sum_(sum) {}
    ~Span() {
      const std::chrono::nanoseconds waited = Clock::now() - start_;
      sum_.fetch_add(waited.count(), std::memory_order_relaxed);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    std::atomic<std::int64_t>& sum_;
    const Clock::time_point start_ = Clock::now();
  };

  std::atomic<std::int64_t> waited_{0};
};

}  // namespace millrace::comm

#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "engine/request.h"

namespace millrace::engine {

// The outputs of one request on their way from the engine thread to its reader: a lock-free ring for one producer and
// one consumer. The producer pauses the request long before the ring is full, so a reader that stops reading delays no
// other stream.
class TokenStream {
 public:
  // `n`: answers of the request; a step adds up to n outputs. The engine thread calls `on_ready` after each output that
  // enters an empty ring; it must not block. It may be empty if the reader waits in pop().
  TokenStream(int n, std::function<void()> on_ready)
      : slots_(std::bit_ceil(static_cast<std::size_t>(n) * kSlotsPerAnswer)), on_ready_(std::move(on_ready)) {}

  // For the reader: the next output, or nothing if the ring is empty.
  std::optional<Output> try_pop() {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_seq_cst)) return std::nullopt;
    Output output = std::move(slots_[tail & mask()]);
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return output;
  }
  // For the reader: waits for the next output. Do not call it after an output with `last` set: none follows.
  Output pop() {
    for (;;) {
      if (auto output = try_pop()) return *std::move(output);
      head_.wait(tail_.load(std::memory_order_relaxed), std::memory_order_acquire);
    }
  }

  // Engine thread. False if the ring is full, which does not happen as long as crowded() streams are paused.
  bool push(Output output) {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[head & mask()] = std::move(output);
    head_.store(head + 1, std::memory_order_seq_cst);
    head_.notify_one();
    // Asked only now, and in one order with what the reader does: who took the one before and then found nothing more
    // is either seen here or has seen this one.
    if (on_ready_ && tail_.load(std::memory_order_seq_cst) == head) on_ready_();
    return true;
  }
  // At least three quarters are in use. The rest suffices for launched steps and the final output of each answer.
  bool crowded() const noexcept { return queued() >= slots_.size() / 4 * 3; }
  bool relaxed() const noexcept { return queued() <= slots_.size() / 4; }

 private:
  static constexpr std::size_t kSlotsPerAnswer = 64;
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t queued() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  }

  std::vector<Output> slots_;
  std::function<void()> on_ready_;
  std::atomic<std::uint32_t> head_ = 0, tail_ = 0;  // count on for ever
};

}  // namespace millrace::engine

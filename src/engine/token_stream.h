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

// Passes the outputs of one request from the engine thread to its reader: a lock-free ring with one producer and one
// consumer. The producer pauses the request before the ring is full, so that a slow reader delays no other stream.
class TokenStream {
 public:
  // `n` is the number of answers, since a step may bring an output of each. The engine thread calls `on_ready` when an
  // output comes into an empty ring; it must not block. It may be empty if the reader uses pop().
  TokenStream(int n, std::function<void()> on_ready)
      : slots_(std::bit_ceil(static_cast<std::size_t>(n) * kSlotsPerAnswer)), on_ready_(std::move(on_ready)) {}

  // Reader only. The next output, if there is one.
  std::optional<Output> try_pop() {
    const std::uint32_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == head_.load(std::memory_order_seq_cst)) return std::nullopt;
    Output output = std::move(slots_[tail & mask()]);
    tail_.store(tail + 1, std::memory_order_seq_cst);
    return output;
  }
  // Reader only. Waits for the next output. The last one has `last` set: another call would wait forever.
  Output pop() {
    for (;;) {
      if (auto output = try_pop()) return *std::move(output);
      head_.wait(tail_.load(std::memory_order_relaxed), std::memory_order_acquire);
    }
  }

  // Engine thread only. False if the ring is full, which cannot happen if streams are paused when they are crowded().
  bool push(Output output) {
    const std::uint32_t head = head_.load(std::memory_order_relaxed);
    if (head - tail_.load(std::memory_order_acquire) == slots_.size()) return false;
    slots_[head & mask()] = std::move(output);
    head_.store(head + 1, std::memory_order_seq_cst);
    head_.notify_one();
    // The load comes after the store, in one total order with the reader's operations. A reader that took the output
    // before either sees this one in try_pop(), or its new tail is seen here.
    if (on_ready_ && tail_.load(std::memory_order_seq_cst) == head) on_ready_();
    return true;
  }
  // Three quarters are full: the request must be paused. The rest is enough for steps in flight and last outputs.
  bool crowded() const noexcept { return queued() >= slots_.size() / 4 * 3; }
  // At most a quarter is full: a paused request may continue.
  bool relaxed() const noexcept { return queued() <= slots_.size() / 4; }

 private:
  static constexpr std::size_t kSlotsPerAnswer = 64;
  std::size_t mask() const noexcept { return slots_.size() - 1; }
  std::size_t queued() const noexcept {
    return head_.load(std::memory_order_relaxed) - tail_.load(std::memory_order_acquire);
  }

  std::vector<Output> slots_;
  std::function<void()> on_ready_;
  std::atomic<std::uint32_t> head_ = 0, tail_ = 0;  // outputs pushed and taken so far, modulo 2^32
};

}  // namespace millrace::engine

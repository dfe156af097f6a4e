#pragma once

#include <memory>
#include <utility>

#include "comm/communicator.h"

namespace millrace::comm {

// The communicator of a group that can be made anew, when a rank of it has ended: what uses this one stays as it is.
// One thread at a time, as of Communicator; replace() is for the one that sends commands, while no other is in a call.
class ReplaceableCommunicator final : public Communicator {
 public:
  explicit ReplaceableCommunicator(std::unique_ptr<Communicator> first) : now_(std::move(first)) {}
  void replace(std::unique_ptr<Communicator> next) noexcept { now_ = std::move(next); }

  int rank() const noexcept override { return now_->rank(); }
  int ranks() const noexcept override { return now_->ranks(); }
  int stages() const noexcept override { return now_->stages(); }
  std::span<std::byte> memory() noexcept override { return now_->memory(); }
  std::uint64_t publish(const Block& block = {}) noexcept override { return now_->publish(block); }
  std::uint64_t published() const noexcept override { return now_->published(); }
  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override { return now_->await(block, timeout); }
  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override {
    return now_->send(command, timeout);
  }
  Result<std::vector<std::byte>> receive(Timeout timeout) override { return now_->receive(timeout); }
  Result<void> answer(std::span<const std::byte> message, Timeout timeout) noexcept override {
    return now_->answer(message, timeout);
  }
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override { return now_->collect(rank, timeout); }
  Result<void> pass(std::span<const std::byte> message, Timeout timeout) noexcept override {
    return now_->pass(message, timeout);
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override { return now_->take(timeout); }

 private:
  std::unique_ptr<Communicator> now_;
};

}  // namespace millrace::comm

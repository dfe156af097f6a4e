#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "comm/communicator.h"

namespace millrace::comm {

// Hands every call on to another communicator. Base of those that do so with changes.
class ForwardingCommunicator : public Communicator {
 public:
  explicit ForwardingCommunicator(std::shared_ptr<Communicator> inner) : inner_(std::move(inner)) {}

  int rank() const noexcept override { return inner_->rank(); }
  int ranks() const noexcept override { return inner_->ranks(); }
  int stages() const noexcept override { return inner_->stages(); }
  std::string name_of(int rank) const override { return inner_->name_of(rank); }
  std::span<std::byte> memory() noexcept override { return inner_->memory(); }
  std::uint64_t publish(const Block& block = {}) noexcept override { return inner_->publish(block); }
  std::uint64_t published() const noexcept override { return inner_->published(); }
  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override { return inner_->await(block, timeout); }
  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override {
    return inner_->send(command, timeout);
  }
  Result<std::vector<std::byte>> receive(Timeout timeout) override { return inner_->receive(timeout); }
  Result<void> answer(std::span<const std::byte> message, Timeout timeout) noexcept override {
    return inner_->answer(message, timeout);
  }
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override { return inner_->collect(rank, timeout); }
  Result<void> pass(std::span<const std::byte> message, Timeout timeout) noexcept override {
    return inner_->pass(message, timeout);
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override { return inner_->take(timeout); }
  std::chrono::nanoseconds waited() const noexcept override { return inner_->waited(); }

 protected:
  std::shared_ptr<Communicator> inner_;
};

}  // namespace millrace::comm

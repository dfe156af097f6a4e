#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_archive.h"
#include "base/check.h"
#include "comm/communicator.h"
#include "model/ranks/rank_commands.h"

namespace millrace::model {

// For tests: a rank whose group says what it is told to, message by message. Others publish zeros in every block.
// Behind the last message a follower is told to end, and others have ended for rank 0.
class ScriptedRank final : public comm::Communicator {
 public:
  ScriptedRank(int rank, int ranks, std::size_t memory = std::size_t{1} << 18)
      : rank_(rank), ranks_(ranks), memory_(memory + kAlign) {}

  void say(std::deque<std::vector<std::byte>> messages) { messages_ = std::move(messages); }
  const std::vector<std::byte>& said() const noexcept { return said_; }  // what this rank has sent last

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  std::span<std::byte> memory() noexcept override {
    const auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
    return std::span(memory_).subspan((kAlign - address % kAlign) % kAlign, memory_.size() - kAlign);
  }
  std::uint64_t publish(const Block& block) noexcept override {
    std::size_t begin = 0;
    for (std::size_t place = 0; place < block.ends.size(); begin = block.ends[place++]) {
      const auto part = memory().subspan(block.first + begin, block.ends[place] - begin);
      if (static_cast<int>(place) != rank_) std::ranges::fill(part, std::byte{});
    }
    return ++published_;
  }
  std::uint64_t published() const noexcept override { return published_; }
  Result<void> await(std::uint64_t, Timeout) noexcept override { return {}; }
  Result<void> send(std::span<const std::byte> command, Timeout) noexcept override { return keep(command); }
  Result<std::vector<std::byte>> receive(Timeout) override {
    if (!messages_.empty()) return next();
    ByteWriter end;
    end(RankCommand(RankEnd{}));
    return end.take();
  }
  Result<void> answer(std::span<const std::byte> message, Timeout) noexcept override { return keep(message); }
  Result<std::vector<std::byte>> collect(int rank, Timeout) override {
    if (!messages_.empty()) return next();
    return make_error(ErrorCode::kUnavailable, "rank", "rank {} has ended", rank);
  }
  Result<void> pass(std::span<const std::byte> message, Timeout) noexcept override { return keep(message); }
  Result<std::vector<std::byte>> take(Timeout timeout) override { return collect(rank_, timeout); }

 private:
  static constexpr std::size_t kAlign = 64;
  std::vector<std::byte> next() {
    std::vector<std::byte> message = std::move(messages_.front());
    messages_.pop_front();
    return message;
  }
  Result<void> keep(std::span<const std::byte> message) {
    said_.assign(message.begin(), message.end());
    return {};
  }

  int rank_, ranks_;
  std::vector<std::byte> memory_;
  std::uint64_t published_ = 0;
  std::deque<std::vector<std::byte>> messages_;
  std::vector<std::byte> said_;
};

}  // namespace millrace::model

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/result.h"

namespace millrace::comm {

// One rank's end of a group of processes that compute together. All ranks publish and await the same blocks in the same
// order, and receive the same commands. Errors are kUnavailable and name the rank that has ended or has not come; after
// one the group is of no more use. One thread at a time, but for publish() and await(), which together may be called
// from another than commands are.
class Communicator {
 public:
  using Timeout = std::chrono::nanoseconds;
  virtual ~Communicator() = default;

  virtual int rank() const noexcept = 0;  // 0 is the leader
  virtual int ranks() const noexcept = 0;

  // Memory that every rank has, with the same contents, at an address of its own: aligned to 64 bytes at least, and
  // zeroed in the beginning. What a rank wrote before it published a block can be read by others once they have awaited
  // that.
  virtual std::span<std::byte> memory() noexcept = 0;

  // Says that this rank's part of the next block is there. Returns the block's number. Waits for nothing.
  virtual std::uint64_t publish() noexcept = 0;
  // The number of the last block that it has published; 0: none.
  virtual std::uint64_t published() const noexcept = 0;
  // Waits until all ranks have published that block, for each of them no longer than `timeout`. Spins, yields, then
  // sleeps, as WorkerTeam does.
  virtual Result<void> await(std::uint64_t block, Timeout timeout) noexcept = 0;

  // Leader: sends a command to all others, of at most kMaxCommand bytes. Returns when it is on its way; waits while one
  // of them has not yet read what is too far before it.
  virtual Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept = 0;
  // Others: the next command.
  virtual Result<std::vector<std::byte>> receive(Timeout timeout) = 0;

  static constexpr std::size_t kMaxCommand = std::size_t{256} << 20;
};

}  // namespace millrace::comm

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace::comm {

// Which bytes of Communicator::memory() an exchange is about: those of place p begin at first + ends[p - 1], of the
// first one at first, and end at first + ends[p]. No ends: none. `leader_only`: the other places do not need them.
struct ExchangeBlock {
  std::size_t first = 0;
  std::span<const std::size_t> ends = {};
  bool leader_only = false;
};

// One rank's end of a group of processes that compute together: stages of as many ranks each, which share the layers of
// a stage. Rank r is the one of place r % stage_ranks() in stage r / stage_ranks(). The ranks of a stage publish and
// await the same blocks in the same order; all receive the same commands. Errors are kUnavailable and name the rank
// that has ended or has not come; after one the group is of no more use. One thread at a time, but for publish() and
// await(), which together may be called from another than messages are.
class Communicator {
 public:
  using Timeout = std::chrono::nanoseconds;
  virtual ~Communicator() = default;

  virtual int rank() const noexcept = 0;  // 0 is the leader
  virtual int ranks() const noexcept = 0;
  virtual int stages() const noexcept { return 1; }
  // For messages: "rank 1", or "rank 1 (process 17 on host b)" where ranks have hosts.
  virtual std::string name_of(int rank) const { return fmt::format("rank {}", rank); }
  int stage_ranks() const noexcept { return ranks() / stages(); }
  int stage() const noexcept { return rank() / stage_ranks(); }
  int place() const noexcept { return rank() % stage_ranks(); }

  // Memory that every rank of the stage has, at an address of its own: aligned to 64 bytes at least, and zeroed in the
  // beginning.
  virtual std::span<std::byte> memory() noexcept = 0;

  using Block = ExchangeBlock;
  // Says that this rank's part of the next block is there. What it wrote there before can be read by others once they
  // have awaited the block. Returns its number. Waits for nothing.
  virtual std::uint64_t publish(const Block& block = {}) noexcept = 0;
  // The number of the last block that it has published; 0: none.
  virtual std::uint64_t published() const noexcept = 0;
  // Waits until all ranks of the stage have published that block, for each of them no longer than `timeout`. Spins,
  // yields, then sleeps, as WorkerTeam does.
  virtual Result<void> await(std::uint64_t block, Timeout timeout) noexcept = 0;

  // Leader: sends a command to all others, of at most kMaxCommand bytes. Returns when it is on its way; waits while one
  // of them has not yet read what is too far before it.
  virtual Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept = 0;
  // Others: the next command.
  virtual Result<std::vector<std::byte>> receive(Timeout timeout) = 0;

  // Others: says something to the leader, and may wait until that takes what is too far before it.
  virtual Result<void> answer(std::span<const std::byte> message, Timeout timeout) noexcept = 0;
  // Leader: the next answer of that rank.
  virtual Result<std::vector<std::byte>> collect(int rank, Timeout timeout) = 0;

  // To the rank of the same place in the next stage, which must exist, and from the one before. As answers: what is on
  // its way is bounded, and a rank that waits to pass something on takes nothing meanwhile. The leader that waits, for
  // whatever it is, takes what the others answer.
  virtual Result<void> pass(std::span<const std::byte> message, Timeout timeout) noexcept = 0;
  virtual Result<std::vector<std::byte>> take(Timeout timeout) = 0;

  // Time that this rank has spent in await(), collect() and take() since the group began, where it is measured
  // (timed_communicator.h).
  virtual std::chrono::nanoseconds waited() const noexcept { return {}; }

  static constexpr std::size_t kMaxCommand = std::size_t{256} << 20;
};

}  // namespace millrace::comm

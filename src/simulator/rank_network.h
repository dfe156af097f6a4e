#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/memory_env.h"
#include "comm/communicator.h"

namespace millrace::simulator {

enum class RankFault { kLost, kDoubled, kDamaged, kOvertaken, kLate, kDied };

// Decides which faults happen between ranks.
class RankFaults {
 public:
  virtual ~RankFaults() = default;
  enum class Of { kCommand, kAnswer, kRows, kRank };
  // Whether this one happens now.
  virtual bool happens(RankFault fault, Of of) = 0;
  virtual std::int64_t pick(std::int64_t low, std::int64_t high) = 0;
};

// A group of ranks in one thread, on virtual time, over which messages are lost, late and doubled and ranks die. Ranks
// behind rank 0 do something only while another one waits for it, command by command: `follow` lets a rank follow its
// next one. Within it a rank may wait for ranks of its stage that have published nothing yet, and for the stage before;
// these follow their commands meanwhile. A step must therefore have no more than one exchange in a stage. All that
// waits for what never comes waits until the time that rank 0 gives it.
class RankNetwork {
 public:
  struct Shape {
    int stage_ranks = 1, stages = 1;
    std::size_t memory = 0;  // bytes of Communicator::memory()
  };
  // Throws LoadError where the rank has ended.
  using Follow = std::function<void(int rank)>;

  // Env and faults must outlive it.
  RankNetwork(const Shape& shape, MemoryEnv& env, RankFaults& faults, Follow follow);
  ~RankNetwork();
  RankNetwork(const RankNetwork&) = delete;
  RankNetwork& operator=(const RankNetwork&) = delete;

  int ranks() const noexcept { return shape_.stage_ranks * shape_.stages; }
  std::unique_ptr<comm::Communicator> communicator(int rank);  // which it must outlive
  // All that is on its way is gone, and all ranks are new ones.
  void restart();
  // What happens to this rank when it has followed all commands before. Of no command, and never lost.
  void in_order(int rank, std::function<void()> work);
  // Ranks follow all commands that have come, without waiting.
  void drain();

  bool all_live() const noexcept;
  // Whether there was any fault since the last restart(), or one after which commands are not what was sent.
  bool disturbed() const noexcept { return disturbed_; }
  bool tampered() const noexcept { return tampered_; }
  // Commands sent that begin with that byte.
  std::int64_t sent(std::uint8_t kind) const noexcept { return sent_[kind]; }
  bool idle(int rank) const noexcept { return of(rank).commands.empty(); }
  // What identifies all commands sent, or all that a rank has got, in their order.
  std::uint64_t history(int rank) const noexcept { return of(rank).history; }

 private:
  friend class NetworkEnd;
  using Message = std::vector<std::byte>;
  struct Command {
    Message bytes = {};
    std::function<void()> work = {};  // in_order()
    TimePoint ready{};
  };
  struct Rank {
    std::deque<Command> commands;
    std::deque<Message> answers, rows;  // to rank 0, from the stage before
    std::uint64_t published = 0, history = 0;
    std::optional<Error> dead;
    bool runs = false;  // follows a command now
  };
  Rank& of(int rank) noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  const Rank& of(int rank) const noexcept { return ranks_[static_cast<std::size_t>(rank)]; }
  Result<void> send(std::span<const std::byte> command);
  void deliver(Rank& to, std::span<const std::byte> command);
  void pass_on(std::deque<Message>& to, std::span<const std::byte> message, RankFaults::Of of);
  Message receive(int rank);
  Result<void> may_die(int rank);
  bool happens(RankFault fault, RankFaults::Of of);
  static void do_work(Rank& of);
  bool advance(int rank);
  template <typename Come>
  Result<void> wait_for(int rank, comm::Communicator::Timeout timeout, const Come& come);
  std::optional<Error> death(int except) const;

  Shape shape_;
  MemoryEnv& env_;
  RankFaults& faults_;
  Follow follow_;
  std::vector<Rank> ranks_;
  std::vector<std::vector<std::byte>> memory_;  // by stage
  TimePoint deadline_ = TimePoint::max();       // of what rank 0 waits for now
  bool disturbed_ = false, tampered_ = false;
  std::array<std::int64_t, 256> sent_{};  // by first byte
};

}  // namespace millrace::simulator

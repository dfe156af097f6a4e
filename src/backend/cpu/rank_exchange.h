#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backend/cpu/host_operands.h"
#include "backend/cpu/step_program.h"
#include "comm/communicator.h"

namespace millrace::backend::cpu {

// Exchanges between the ranks of a group, as phases of the step's program: each rank puts what it has computed into
// the group's memory, and takes what the others have put there. Large rows go in blocks. Two blocks are in the memory
// by turns: when a rank puts one, all have said that they have taken the one before the last. One block of 64 carries a
// checksum of each rank's part, so that memory or a network that changes bytes is found.
class RankExchange {
 public:
  explicit RankExchange(std::shared_ptr<comm::Communicator> communicator);

  int rank() const noexcept { return communicator_->place(); }
  int ranks() const noexcept { return communicator_->stage_ranks(); }
  // On the stream's thread. What `args` points to must stay until the program has run.
  void record(StepProgram& program, const ExchangeArgs& args, const TensorView& x);
  // When the program has run. Throws the LoadError of the first exchange that has failed, kUnavailable; those behind it
  // did nothing.
  void check();

 private:
  struct Block {
    ExchangeArgs args;
    TensorView x;
    std::size_t first;              // byte of the group's memory
    std::vector<std::size_t> ends;  // of each rank's bytes, behind it: values, then their checksum or 0
  };
  // What a rank has of the block: values and checksum.
  std::span<std::byte> bytes_of(const Block& block, int rank) const noexcept;
  float* part(const Block& block, int rank) const noexcept {
    return reinterpret_cast<float*>(bytes_of(block, rank).data());
  }
  void put(const Block& block, std::int64_t begin, std::int64_t end) const noexcept;
  void meet(const Block& block) noexcept;
  Result<void> verify(const Block& block) const noexcept;
  void take(const Block& block, std::int64_t begin, std::int64_t end) const noexcept;

  std::shared_ptr<comm::Communicator> communicator_;
  std::deque<Block> blocks_;  // whose memory stays from step to step
  std::size_t recorded_ = 0;  // of them, since check() was last called
  std::atomic<bool> has_failed_{false};
  Error failure_;  // if so
};

}  // namespace millrace::backend::cpu

#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backend/cpu/host_operands.h"
#include "backend/cpu/packed_linear.h"
#include "backend/cpu/scratch.h"
#include "backend/cpu/step_program.h"
#include "comm/communicator.h"

namespace millrace::backend::cpu {

// Rows as a product reads them, of which ranks have some columns each: a view of memory that stays where it is until
// the program has run, or is replaced by larger memory before.
struct CutRows {
  const PackedLinear* weight = nullptr;  // whose form can be cut at the borders
  std::int64_t rows = 0;
  const Scratch* memory = nullptr;
  const KernelSet* kernels = nullptr;
  TensorView source = {};  // [rows, k] f32, which this rank's columns are made of first; without data: they are there

  ActivationRows view() const noexcept { return {weight->activation_form(), rows, memory->data()}; }
};

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
  // The same with rows in the form of a product, a quarter of their bytes or less.
  void record(StepProgram& program, const ExchangeArgs& args, const CutRows& rows);
  // When the program has run. Throws the LoadError of the first exchange that has failed, kUnavailable; those behind it
  // did nothing.
  void check();

 private:
  struct Content {
    ExchangeArgs args;
    TensorView x;  // [rows, n] f32, if there are no codes
    CutRows codes;

    std::int64_t rows() const noexcept { return codes.weight == nullptr ? x.rows() : codes.rows; }
    std::size_t row_bytes() const noexcept;          // of all ranks
    std::size_t row_bytes(int rank) const noexcept;  // where there are borders
  };
  struct Block {
    Content content;
    std::int64_t first_row, rows;
    std::size_t first;              // byte of the group's memory
    std::vector<std::size_t> ends;  // of each rank's bytes, behind it: values, then their checksum or 0
  };
  void record(StepProgram& program, const Content& content);
  static void set_ends(Block& block, int ranks);
  bool is_read_by_others(const Block& block) const noexcept { return !block.content.args.leader_only || rank() != 0; }
  // What a rank has of the block: values and checksum.
  std::span<std::byte> bytes_of(const Block& block, int rank) const noexcept;
  float* part(const Block& block, int rank) const noexcept {
    return reinterpret_cast<float*>(bytes_of(block, rank).data());
  }
  // Rows [begin, end) of the block.
  void put(const Block& block, std::int64_t begin, std::int64_t end) const noexcept;
  void meet(const Block& block) noexcept;
  Result<void> verify(const Block& block) const noexcept;
  void take(const Block& block, std::int64_t begin, std::int64_t end) const noexcept;
  void put_codes(const Block& block, std::int64_t begin, std::int64_t end) const noexcept;
  void take_codes(const Block& block, int other, std::int64_t begin, std::int64_t end) const noexcept;

  std::shared_ptr<comm::Communicator> communicator_;
  std::deque<Block> blocks_;  // whose memory stays from step to step
  std::size_t recorded_ = 0;  // of them, since check() was last called
  std::atomic<bool> has_failed_{false};
  Error failure_;  // if so
};

}  // namespace millrace::backend::cpu

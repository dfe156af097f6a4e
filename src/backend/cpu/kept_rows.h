#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "backend/cpu/scratch.h"

namespace millrace::backend::cpu {

// Int8 rows in another order than that of Activations, of one thread: kept from call to call of a kernel as long as
// x has the same Activations::contents. A worker multiplies one x with the panels of a weight piece by piece.
class KeptRows {
 public:
  static constexpr std::int64_t kBlocks = 4;  // of rows, which are kept; more take each other's place
  // The most that a group of kGroup values takes: codes of 16 bits, and as much beside them as in an Int8Group.
  static constexpr std::size_t kGroupBytes = kGroup * 2 + (sizeof(Int8Group) - kGroup);

  // `n` rows from `first` on in `bytes` of memory, which stays as it is until the next call. Calls arrange(memory)
  // unless that was done before. The address of `order` names the order.
  template <typename Arrange>
  const std::byte* get(const Activations& x, std::int64_t first, std::int64_t n, const char& order, std::size_t bytes,
                       const Arrange& arrange) {
    if (x.contents == 0 || x.contents != contents_) {
      contents_ = x.contents;
      used_ = 0;
    }
    const Block block{x.groups + x.int8_at(first), n, &order};
    for (std::size_t i = 0; i < std::min(used_, blocks_.size()); ++i) {
      if (blocks_[i] == block) return memory_[i].data();
    }
    const std::size_t at = used_++ % blocks_.size();
    blocks_[at] = block;
    memory_[at].reserve(bytes);
    arrange(memory_[at].data());
    return memory_[at].data();
  }

 private:
  struct Block {
    const Int8Group* groups;
    std::int64_t rows;
    const char* order;
    friend bool operator==(const Block&, const Block&) = default;
  };
  std::uint64_t contents_ = 0;
  std::size_t used_ = 0;
  std::array<Block, kBlocks> blocks_;
  std::array<Scratch, kBlocks> memory_;
};

inline KeptRows& kept_rows_of_thread() {
  thread_local KeptRows rows;
  return rows;
}

}  // namespace millrace::backend::cpu

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/adapter_pieces.h"
#include "backend/cpu/expert_plan.h"
#include "backend/cpu/scratch.h"

namespace millrace::backend::cpu {

// The adapters of one product of a step's experts. Rows of an adapter lie side by side among the places of a group, as
// these ascend by row: what an adapter has of a group is cut into pieces as the rows of any product are.
class ExpertAdapters {
 public:
  // Memory for a step whose rows have `chosen` experts each. Only while a step is recorded.
  void reserve(std::span<const AdapterRows> adapters, std::int64_t chosen, std::int64_t groups);
  // Cuts what the adapters have of each of the groups, into pieces of at most `most` rows, a multiple of kTileRows.
  void make(std::span<const AdapterRows> adapters, const ExpertPlan& plan, std::span<const ExpertPlan::Group> groups,
            std::int64_t chosen, std::int64_t most) noexcept;

  // The adapters of group i, in rows of the group.
  std::span<const AdapterRows> rows(std::int64_t i) const noexcept { return part_of(rows_, first_rows_, i); }
  // Takes the rows of group i that adapters have through A.
  void shrink(const KernelSet& kernels, std::int64_t i, const AdapterInput& x) const noexcept;
  // What they do to the outputs of group i, which went through A.
  AdapterOutputs outputs(std::int64_t i) const noexcept {
    return {.pieces = part_of(pieces_, first_pieces_, i), .ranks = ranks_.data()};
  }

 private:
  template <typename T>
  static std::span<const T> part_of(const std::vector<T>& all, const std::vector<std::size_t>& first,
                                    std::int64_t i) noexcept {
    const std::size_t begin = first[static_cast<std::size_t>(i)], end = first[static_cast<std::size_t>(i) + 1];
    return std::span(all).subspan(begin, end - begin);
  }

  std::vector<AdapterRows> rows_;  // group by group
  std::vector<AdapterPiece> pieces_;
  std::vector<std::size_t> first_rows_, first_pieces_;  // of each group, and the end
  Scratch ranks_;                                       // of each piece, twice: shrink_all() wants scratch memory
};

}  // namespace millrace::backend::cpu

#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/view.h"

namespace millrace::backend::cpu {

// Which rows go through which expert in a step: the T * k pairs of a row and a choice of its, sorted by expert and,
// within one, by row. A pair's number there is its place.
class ExpertPlan {
 public:
  // The places [first, first + count), all of one expert.
  struct Group {
    std::int32_t expert, first, count;
  };

  // Memory for a step. Only while a step is recorded.
  void reserve(std::int64_t rows, std::int64_t chosen, std::int64_t experts);
  // Sorts the routes [T, 2k] of Operations::route(). Blocks have at most `block` places; 0: there are none. `census`:
  // [experts] or null.
  void make(const TensorView& routes, std::int64_t experts, std::int64_t block, std::uint32_t* census) noexcept;

  // Experts with rows, in order, and the same cut into blocks, the largest first.
  std::span<const Group> groups() const noexcept { return {groups_.data(), n_groups_}; }
  std::span<const Group> blocks() const noexcept { return {blocks_.data(), n_blocks_}; }
  // The most blocks that make() gives.
  static std::int64_t max_blocks(std::int64_t rows, std::int64_t chosen, std::int64_t experts,
                                 std::int64_t block) noexcept;
  // Pair t * k + j of the place, and the other way round.
  std::int32_t pair(std::int64_t place) const noexcept { return pairs_[static_cast<std::size_t>(place)]; }
  std::int32_t place(std::int64_t pair) const noexcept { return places_[static_cast<std::size_t>(pair)]; }

 private:
  std::vector<std::int32_t> pairs_, places_, next_;
  std::vector<Group> groups_, blocks_;
  std::size_t n_groups_ = 0, n_blocks_ = 0;
};

}  // namespace millrace::backend::cpu

#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "backend/backend.h"

namespace millrace::model {

// The columns of rows that this rank computes, of those whose columns ranks share.
class RankColumns {
 public:
  RankColumns() = default;  // one rank: all columns
  // Rank r has the columns [borders[r], borders[r + 1]).
  RankColumns(std::vector<std::int64_t> borders, int rank)
      : borders_(std::move(borders)), rank_(static_cast<std::size_t>(rank)) {}

  std::span<const std::int64_t> borders() const noexcept { return borders_; }  // empty: there is one rank
  bool are_shared() const noexcept { return !borders_.empty(); }
  backend::DeviceView own(const backend::DeviceView& rows) const {
    return borders_.empty() ? rows : rows.columns(borders_[rank_], borders_[rank_ + 1] - borders_[rank_]);
  }
  // All ranks have computed theirs: all get the others'. This must stay until the step is done.
  void exchange(backend::Backend& backend, const backend::DeviceView& rows, bool leader_only = false) const {
    if (!borders_.empty()) backend.exchange({.borders = borders_, .leader_only = leader_only}, rows);
  }
  // The same for an operation that does it in between. Without borders if there is one rank.
  backend::ExchangeArgs exchanged() const noexcept { return {.borders = borders_}; }

 private:
  std::vector<std::int64_t> borders_;
  std::size_t rank_ = 0;
};

}  // namespace millrace::model

#include "backend/cpu/expert_adapters.h"

#include <algorithm>
#include <ranges>

namespace millrace::backend::cpu {

void ExpertAdapters::reserve(std::span<const AdapterRows> adapters, std::int64_t chosen, std::int64_t groups) {
  std::int64_t most = 0;  // pieces, each of one row
  std::size_t bytes = 0;
  for (const AdapterRows& adapter : adapters) {
    const std::int64_t pairs = adapter.n_rows * chosen;
    most += pairs;
    bytes += 2 * static_cast<const PackedLowRank&>(*adapter.weights).rank_bytes(pairs);
  }
  rows_.reserve(static_cast<std::size_t>(most));
  pieces_.reserve(static_cast<std::size_t>(most));
  first_rows_.reserve(static_cast<std::size_t>(groups) + 1);
  first_pieces_.reserve(static_cast<std::size_t>(groups) + 1);
  ranks_.reserve(bytes);
}

void ExpertAdapters::make(std::span<const AdapterRows> adapters, const ExpertPlan& plan,
                          std::span<const ExpertPlan::Group> groups, std::int64_t chosen, std::int64_t most) noexcept {
  rows_.clear();
  pieces_.clear();
  first_rows_.assign(1, 0);
  first_pieces_.assign(1, 0);
  std::size_t ranks_at = 0;
  for (const ExpertPlan::Group& group : groups) {
    const auto places = std::views::iota(group.first, group.first + group.count);
    const auto place_of = [&](std::int64_t row) {
      return std::ranges::lower_bound(places, row, {}, [&](std::int32_t place) { return plan.pair(place) / chosen; });
    };
    for (const AdapterRows& adapter : adapters) {
      const auto begin = place_of(adapter.first_row), end = place_of(adapter.first_row + adapter.n_rows);
      if (begin != end) rows_.push_back({begin - places.begin(), end - begin, adapter.weights, adapter.scale});
    }
    const auto of_group = std::span(std::as_const(rows_)).subspan(first_rows_.back());
    cut_adapters(of_group, 0, group.count, most, false, [&](AdapterPiece piece) {
      piece.expert = group.expert;
      piece.ranks_at = ranks_at;
      ranks_at += 2 * piece.weights->rank_bytes(piece.rows);
      pieces_.push_back(piece);
    });
    first_rows_.push_back(rows_.size());
    first_pieces_.push_back(pieces_.size());
  }
}

void ExpertAdapters::shrink(const KernelSet& kernels, std::int64_t i, const AdapterInput& x) const noexcept {
  for (const AdapterPiece& piece : part_of(pieces_, first_pieces_, i)) {
    piece.weights->shrink_all(kernels, x, piece.first_row, piece.rows, piece.scale, ranks_.data() + piece.ranks_at,
                              piece.expert);
  }
}

}  // namespace millrace::backend::cpu

#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/packed_low_rank.h"
#include "backend/cpu/row_source.h"
#include "backend/cpu/scratch.h"

namespace millrace::backend::cpu {

// Rows of a product that go through an adapter's A together: in one tile, or from the beginning of one on.
struct AdapterPiece {
  std::int64_t first_row, rows;
  const PackedLowRank* weights;
  float scale;
  std::size_t ranks_at;  // of what A gives
  std::int64_t expert = 0;
};

// Cuts what adapters have of the rows [first, first + rows) of a product into pieces of at most `most` rows, a multiple
// of kTileRows, counted from row `first`. Calls visit(piece) for each. Returns the bytes for what A of all of them
// give, of the sums or, `by_part`, of each part of the columns.
template <typename Visit>
std::size_t cut_adapters(std::span<const AdapterRows> adapters, std::int64_t first, std::int64_t rows,
                         std::int64_t most, bool by_part, const Visit& visit) {
  std::size_t at = 0;
  for (const AdapterRows& adapter : adapters) {
    std::int64_t row = std::max<std::int64_t>(0, adapter.first_row - first);
    const std::int64_t end = std::min(rows, adapter.first_row + adapter.n_rows - first);
    while (row < end) {
      const std::int64_t in_tile = row % kTileRows;
      const std::int64_t n = std::min(end - row, in_tile > 0 ? kTileRows - in_tile : most);
      const auto* weights = static_cast<const PackedLowRank*>(adapter.weights);
      visit(AdapterPiece{row, n, weights, adapter.scale, at});
      at += weights->rank_bytes(n) * static_cast<std::size_t>(by_part ? weights->parts() : 1);
      row += n;
    }
  }
  return at;
}

// The forms of x that the adapters' A want, together.
AdapterForm input_form(std::span<const AdapterRows> adapters) noexcept;

// Whether one of the adapters has that row.
inline bool has_row(std::span<const AdapterRows> adapters, std::int64_t row) noexcept {
  return std::ranges::any_of(
      adapters, [row](const AdapterRows& one) { return row >= one.first_row && row < one.first_row + one.n_rows; });
}

// Converts rows [first, first + count) of the source to rows [0, count) of `to`, and those that adapters have to rows
// of `own`. `normed` [k] is scratch memory.
void store_rows(const KernelSet& kernels, const RowSource& source, std::int64_t first, std::int64_t count,
                const ActivationRows& to, std::span<const AdapterRows> adapters, const AdapterInput& own,
                float* normed) noexcept;

// What expand_pieces() will read, for the base's product to ask for: many short runs, for which the processor's own
// prefetching is too slow, while memory has little to do in a product of many rows.
class AheadOfPieces {
 public:
  void add(std::span<const AdapterPiece> pieces, const AdaptedColumns& columns) noexcept;
  // For a product that has so many steps at least. Stays valid with this object; null: there is nothing.
  AheadStream* stream(std::int64_t steps) noexcept;

 private:
  static constexpr std::size_t kMost = 128;  // others are not asked for
  AheadStream::Range ranges_[kMost];
  std::size_t count_ = 0;
  std::int64_t lines_ = 0;
  AheadStream stream_;
};

// Applies pieces that went through A to outputs of the base; see PackedLowRank::expand(). `columns.out` is at row 0 of
// `x`, the rows that store_rows() put there.
void expand_pieces(const KernelSet& kernels, std::span<const AdapterPiece> pieces, const AdapterInput& x,
                   const std::byte* ranks, const AdaptedColumns& columns) noexcept;

// Rows whose adapters have factors, while a product is added to what their outputs hold: that is kept apart meanwhile.
class ApartRows {
 public:
  // For a product of so many rows and columns. On the stream's thread. `memory` outlives the phases.
  ApartRows(std::span<const AdapterRows> adapters, bool accumulate, std::int64_t rows, std::int64_t columns,
            Scratch& memory);
  // Takes n columns from `column` on of rows [first_row, first_row + rows) out of `out`, which begins there, and leaves
  // zeros.
  void take(std::int64_t first_row, std::int64_t rows, std::int64_t column, std::int64_t n, float* out,
            std::int64_t stride) const noexcept;
  // Adds them again.
  void add_back(std::int64_t first_row, std::int64_t rows, std::int64_t column, std::int64_t n, float* out,
                std::int64_t stride) const noexcept;

 private:
  template <typename Visit>
  void for_rows(std::int64_t first_row, std::int64_t rows, std::int64_t column, const Visit& visit) const noexcept;
  std::span<const AdapterRows> adapters_;  // empty: none has factors that matter
  std::int64_t columns_ = 0;
  const Scratch* memory_ = nullptr;
};

// The adapters of one product whose columns the workers share. Workers take pieces through parts of A before their
// first columns of the base; none waits for another until it adds to its columns.
class SharedAdapters {
 public:
  // Cuts the rows for so many workers. On the stream's thread; the product's phase has not begun. Returns the bytes for
  // what A gives.
  std::size_t begin(std::span<const AdapterRows> adapters, std::int64_t rows, int workers);
  // Takes pieces of x through A until none is left.
  void shrink(const KernelSet& kernels, const AdapterInput& x, std::byte* ranks) noexcept;
  std::span<const AdapterPiece> pieces() const noexcept { return pieces_; }
  // All pieces, when they are through A. The calling worker has called shrink() before.
  std::span<const AdapterPiece> wait() const noexcept;

 private:
  struct Task {  // parts of a piece
    std::int32_t piece, first_part, last_part;
  };
  std::vector<AdapterPiece> pieces_;
  std::vector<Task> tasks_;
  std::unique_ptr<std::atomic<std::int32_t>[]> left_;  // parts of each piece
  std::size_t capacity_ = 0;                           // of left_
  std::atomic<std::int64_t> next_{0}, done_{0};        // tasks taken; pieces that are through
};

// Steps of AheadStream in a product of panels with rows of k values: at least as many as there are.
inline std::int64_t ahead_steps(std::int64_t panels, std::int64_t rows, std::int64_t k) noexcept {
  return std::max<std::int64_t>(1, panels * ((rows + kTileRows - 1) / kTileRows) * (k / kGroup));
}

// What adapters do to the outputs of one product, for a worker.
struct AdapterOutputs {
  const SharedAdapters* shared = nullptr;  // null: `pieces` are through A
  std::span<const AdapterPiece> pieces = {};
  const std::byte* ranks = nullptr;
  AdapterInput x = {};  // the rows that went through A

  void add_ahead(const AdaptedColumns& columns, AheadOfPieces& ahead) const noexcept {
    ahead.add(shared != nullptr ? shared->pieces() : pieces, columns);
  }
  void apply(const KernelSet& kernels, const AdaptedColumns& columns) const noexcept {
    expand_pieces(kernels, shared != nullptr ? shared->wait() : pieces, x, ranks, columns);
  }
};

}  // namespace millrace::backend::cpu

#include "backend/cpu/adapter_pieces.h"

#include "base/worker_team.h"

namespace millrace::backend::cpu {

AdapterForm input_form(std::span<const AdapterRows> adapters) noexcept {
  AdapterForm form;
  for (const AdapterRows& adapter : adapters) {
    const AdapterForm own = static_cast<const PackedLowRank*>(adapter.weights)->form();
    form.k = own.k;
    form.types |= own.types;
    form.remainder = form.remainder || own.remainder;
  }
  return form;
}

void store_rows(const KernelSet& kernels, const RowSource& source, std::int64_t first, std::int64_t count,
                const ActivationRows& to, std::span<const AdapterRows> adapters, const AdapterInput& own,
                float* normed) noexcept {
  if (adapters.empty()) return source.store(kernels, first, count, to, normed);
  for (std::int64_t r = 0; r < count; ++r) {
    const float* x = source.row(kernels, first + r, normed);
    to.store_row(kernels, r, x);
    if (has_row(adapters, first + r)) own.put(kernels, r, 0, x, source.columns());
  }
}

void AheadOfPieces::add(std::span<const AdapterPiece> pieces, const AdaptedColumns& columns) noexcept {
  for (const AdapterPiece& piece : pieces) {
    piece.weights->for_memory(columns, piece.expert, [&](std::span<const std::byte> memory) {
      if (count_ == kMost) return;
      ranges_[count_++] = {memory.data(), memory.size()};
      lines_ += static_cast<std::int64_t>(memory.size() / 64);
    });
  }
}

AheadStream* AheadOfPieces::stream(std::int64_t steps) noexcept {
  if (count_ == 0) return nullptr;
  stream_ = {.next = ranges_, .last = ranges_ + count_, .lines = static_cast<int>((lines_ + steps - 1) / steps)};
  return &stream_;
}

void expand_pieces(const KernelSet& kernels, std::span<const AdapterPiece> pieces, const AdapterInput& x,
                   const std::byte* ranks, const AdaptedColumns& columns) noexcept {
  for (const AdapterPiece& piece : pieces) {
    AdaptedColumns of_piece = columns;
    of_piece.out += piece.first_row * columns.stride;
    piece.weights->expand(kernels, of_piece, x, piece.first_row, piece.rows, piece.scale, ranks + piece.ranks_at,
                          piece.expert);
  }
}

ApartRows::ApartRows(std::span<const AdapterRows> adapters, bool accumulate, std::int64_t rows, std::int64_t columns,
                     Scratch& memory) {
  const bool any = accumulate && std::ranges::any_of(adapters, [](const AdapterRows& one) {
                     return static_cast<const PackedLowRank*>(one.weights)->has_factors();
                   });
  if (!any) return;
  adapters_ = adapters;
  columns_ = columns;
  memory_ = &memory;
  memory.reserve(static_cast<std::size_t>(rows * columns) * sizeof(float));
}

template <typename Visit>
void ApartRows::for_rows(std::int64_t first_row, std::int64_t rows, std::int64_t column,
                         const Visit& visit) const noexcept {
  if (adapters_.empty()) return;
  for (std::int64_t r = 0; r < rows; ++r) {
    const bool has = std::ranges::any_of(adapters_, [&](const AdapterRows& one) {
      const std::int64_t row = first_row + r - one.first_row;
      return row >= 0 && row < one.n_rows && static_cast<const PackedLowRank*>(one.weights)->has_factors();
    });
    if (has) visit(r, memory_->as<float>() + (first_row + r) * columns_ + column);
  }
}

void ApartRows::take(std::int64_t first_row, std::int64_t rows, std::int64_t column, std::int64_t n, float* out,
                     std::int64_t stride) const noexcept {
  for_rows(first_row, rows, column, [&](std::int64_t r, float* apart) {
    std::copy_n(out + r * stride, n, apart);
    std::fill_n(out + r * stride, n, 0.0f);
  });
}

void ApartRows::add_back(std::int64_t first_row, std::int64_t rows, std::int64_t column, std::int64_t n, float* out,
                         std::int64_t stride) const noexcept {
  for_rows(first_row, rows, column, [&](std::int64_t r, const float* apart) {
    for (std::int64_t i = 0; i < n; ++i) out[r * stride + i] += apart[i];
  });
}

// Each worker shall find four tasks; more of them cost more than uneven shares do.
std::size_t SharedAdapters::begin(std::span<const AdapterRows> adapters, std::int64_t rows, int workers) {
  pieces_.clear();
  tasks_.clear();
  next_ = 0;
  done_ = 0;
  const std::size_t bytes =
      cut_adapters(adapters, 0, rows, kTileRows, true, [&](const AdapterPiece& piece) { pieces_.push_back(piece); });
  const auto n_pieces = std::max<std::int64_t>(1, std::ssize(pieces_));
  const std::int64_t tasks_of_piece = std::max<std::int64_t>(1, 4 * workers / n_pieces);
  for (std::int32_t i = 0; i < std::ssize(pieces_); ++i) {
    const std::int64_t parts = pieces_[static_cast<std::size_t>(i)].weights->parts();
    const std::int64_t together = std::max<std::int64_t>(1, parts / tasks_of_piece);
    for (std::int64_t part = 0; part < parts; part += together) {
      tasks_.push_back(
          {i, static_cast<std::int32_t>(part), static_cast<std::int32_t>(std::min(parts, part + together))});
    }
  }
  if (pieces_.size() > capacity_) {
    capacity_ = std::max(pieces_.size(), 2 * capacity_);
    left_ = std::make_unique<std::atomic<std::int32_t>[]>(capacity_);
  }
  for (std::size_t i = 0; i < pieces_.size(); ++i) left_[i] = static_cast<std::int32_t>(pieces_[i].weights->parts());
  return bytes;
}

// The worker that computes a piece's last part adds up all of them, in their order.
void SharedAdapters::shrink(const KernelSet& kernels, const AdapterInput& x, std::byte* ranks) noexcept {
  const auto n = std::ssize(tasks_);
  if (next_.load(std::memory_order_relaxed) >= n) return;
  for (std::int64_t i = next_.fetch_add(1, std::memory_order_relaxed); i < n;
       i = next_.fetch_add(1, std::memory_order_relaxed)) {
    const Task task = tasks_[static_cast<std::size_t>(i)];
    const AdapterPiece& piece = pieces_[static_cast<std::size_t>(task.piece)];
    const std::size_t bytes = piece.weights->rank_bytes(piece.rows);
    std::byte* first = ranks + piece.ranks_at;
    for (std::int64_t part = task.first_part; part < task.last_part; ++part) {
      piece.weights->shrink(part, x.part(part).part(piece.first_row, piece.rows),
                            first + static_cast<std::size_t>(part) * bytes);
    }
    const std::int32_t done = task.last_part - task.first_part;
    if (left_[static_cast<std::size_t>(task.piece)].fetch_sub(done, std::memory_order_acq_rel) > done) continue;
    for (std::int64_t part = 1; part < piece.weights->parts(); ++part) {
      piece.weights->add_part(kernels, piece.rows, first + static_cast<std::size_t>(part) * bytes, first);
    }
    piece.weights->scale(kernels, piece.scale, piece.rows, first);
    done_.fetch_add(1, std::memory_order_release);
  }
}

std::span<const AdapterPiece> SharedAdapters::wait() const noexcept {
  for (SpinWait spin; done_.load(std::memory_order_acquire) < std::ssize(pieces_);) spin.wait();
  return pieces_;
}

}  // namespace millrace::backend::cpu

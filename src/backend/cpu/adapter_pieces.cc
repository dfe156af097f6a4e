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

void expand_pieces(std::span<const AdapterPiece> pieces, const std::byte* ranks, std::int64_t first, std::int64_t last,
                   std::int64_t first_column, float* out, std::int64_t out_stride) noexcept {
  for (const AdapterPiece& piece : pieces) {
    piece.weights->expand(first, last, first_column, piece.rows, ranks + piece.ranks_at,
                          out + piece.first_row * out_stride, out_stride);
  }
}

std::size_t SharedAdapters::begin(std::span<const AdapterRows> adapters, std::int64_t rows) {
  pieces_.clear();
  tasks_.clear();
  next_ = 0;
  done_ = 0;
  const std::size_t bytes = cut_adapters(adapters, 0, rows, kTileRows, true, [&](const AdapterPiece& piece) {
    for (std::int64_t part = 0; part < piece.weights->parts(); ++part) {
      tasks_.push_back({static_cast<std::int32_t>(pieces_.size()), static_cast<std::int32_t>(part)});
    }
    pieces_.push_back(piece);
  });
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
    piece.weights->shrink(task.part, x.part(task.part).part(piece.first_row, piece.rows),
                          first + static_cast<std::size_t>(task.part) * bytes);
    if (left_[static_cast<std::size_t>(task.piece)].fetch_sub(1, std::memory_order_acq_rel) > 1) continue;
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

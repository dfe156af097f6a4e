#include "backend/cpu/rank_exchange.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::size_t kAloneBytes = std::size_t{1} << 16;  // up to here one worker copies faster than several
// How long others may need longer for what is between two exchanges.
constexpr comm::Communicator::Timeout kTimeout = std::chrono::seconds(2), kRowTimeout = std::chrono::milliseconds(60);

}  // namespace

RankExchange::RankExchange(std::shared_ptr<comm::Communicator> communicator) : communicator_(std::move(communicator)) {}

void RankExchange::record(StepProgram& program, const ExchangeArgs& args, const TensorView& x) {
  const std::size_t row_bytes = static_cast<std::size_t>(x.cols()) * sizeof(float);
  const std::size_t half = communicator_->memory().size() / 2 / 64 * 64;
  CHECK(row_bytes > 0 && row_bytes <= half);
  const auto most = static_cast<std::int64_t>(half / row_bytes);
  for (std::int64_t first = 0; first < x.rows(); first += most) {
    const std::int64_t rows = std::min(most, x.rows() - first);
    Block block{args, x, communicator_->memory().data() + (communicator_->published() + recorded_++) % 2 * half};
    block.x.data = x.row(first);
    block.x.shape = {rows, x.cols()};
    if (!args.owners.empty()) {
      block.args.owners = args.owners.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
    }
    if (static_cast<std::size_t>(rows) * row_bytes <= kAloneBytes) {
      program.add_tasks(1, [=, this](std::int64_t, int) {
        put(block, 0, rows);
        meet(rows);
        take(block, 0, rows);
      });
      continue;
    }
    program.add_split(rows, 1, [=, this](std::int64_t begin, std::int64_t end, int) { put(block, begin, end); });
    program.add_tasks(1, [=, this](std::int64_t, int) { meet(rows); });
    program.add_split(rows, 1, [=, this](std::int64_t begin, std::int64_t end, int) { take(block, begin, end); });
  }
}

// Columns of a rank lie together, row by row.
void RankExchange::put(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  const auto [args, x, memory] = block;
  auto* to = reinterpret_cast<float*>(memory);
  if (!args.owners.empty()) {
    for (std::int64_t t = begin; t < end; ++t) {
      if (args.owners[static_cast<std::size_t>(t)] == rank()) std::copy_n(x.row(t), x.cols(), to + t * x.cols());
    }
    return;
  }
  const auto own = static_cast<std::size_t>(rank());
  const std::int64_t first = args.borders[own], n = args.borders[own + 1] - first;
  for (std::int64_t t = begin; t < end; ++t) std::copy_n(x.row(t) + first, n, to + first * x.rows() + t * n);
}

void RankExchange::meet(std::int64_t rows) noexcept {
  if (has_failed_.load(std::memory_order_relaxed)) return;
  auto met = communicator_->await(communicator_->publish(), std::max(kTimeout, rows * kRowTimeout));
  if (met) return;
  failure_ = met.error();
  has_failed_.store(true, std::memory_order_relaxed);
}

void RankExchange::take(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  const auto [args, x, memory] = block;
  if (args.leader_only && rank() != 0) return;
  const auto* from = reinterpret_cast<const float*>(memory);
  if (!args.owners.empty()) {
    for (std::int64_t t = begin; t < end; ++t) {
      if (args.owners[static_cast<std::size_t>(t)] != rank()) std::copy_n(from + t * x.cols(), x.cols(), x.row(t));
    }
    return;
  }
  for (std::size_t other = 0; other + 1 < args.borders.size(); ++other) {
    if (static_cast<int>(other) == rank()) continue;
    const std::int64_t first = args.borders[other], n = args.borders[other + 1] - first;
    for (std::int64_t t = begin; t < end; ++t) std::copy_n(from + first * x.rows() + t * n, n, x.row(t) + first);
  }
}

void RankExchange::check() {
  recorded_ = 0;
  if (has_failed_.exchange(false)) throw LoadError(failure_);
}

}  // namespace millrace::backend::cpu

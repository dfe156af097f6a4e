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

// Where the bytes of each rank end.
std::vector<std::size_t> ends_of(const ExchangeArgs& args, std::int64_t rows, std::int64_t cols, int ranks) {
  std::vector<std::size_t> ends;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto end = static_cast<std::size_t>(rank) + 1;
    const std::int64_t n = args.owners.empty() ? (args.borders[end] - args.borders[end - 1]) * rows
                                               : std::ranges::count(args.owners, rank) * cols;
    ends.push_back((ends.empty() ? 0 : ends.back()) + static_cast<std::size_t>(n) * sizeof(float));
  }
  return ends;
}

}  // namespace

RankExchange::RankExchange(std::shared_ptr<comm::Communicator> communicator) : communicator_(std::move(communicator)) {}

void RankExchange::record(StepProgram& program, const ExchangeArgs& args, const TensorView& x) {
  const std::size_t row_bytes = static_cast<std::size_t>(x.cols()) * sizeof(float);
  const std::size_t half = communicator_->memory().size() / 2 / 64 * 64;
  CHECK(row_bytes > 0 && row_bytes <= half);
  const auto most = static_cast<std::int64_t>(half / row_bytes);
  for (std::int64_t first = 0; first < x.rows(); first += most) {
    const std::int64_t rows = std::min(most, x.rows() - first);
    Block& block = recorded_.emplace_back(Block{args, x, 0, {}});
    block.first = (communicator_->published() + recorded_.size() - 1) % 2 * half;
    block.x.data = x.row(first);
    block.x.shape = {rows, x.cols()};
    if (!args.owners.empty()) {
      block.args.owners = args.owners.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
    }
    block.ends = ends_of(block.args, rows, x.cols(), ranks());
    if (static_cast<std::size_t>(rows) * row_bytes <= kAloneBytes) {
      program.add_tasks(1, [&block, rows, this](std::int64_t, int) {
        put(block, 0, rows);
        meet(block);
        take(block, 0, rows);
      });
      continue;
    }
    program.add_split(rows, 1, [&block, this](std::int64_t begin, std::int64_t end, int) { put(block, begin, end); });
    program.add_tasks(1, [&block, this](std::int64_t, int) { meet(block); });
    program.add_split(rows, 1, [&block, this](std::int64_t begin, std::int64_t end, int) { take(block, begin, end); });
  }
}

float* RankExchange::part(const Block& block, int rank) const noexcept {
  std::byte* const begin = communicator_->memory().data() + block.first;
  return reinterpret_cast<float*>(begin + (rank == 0 ? 0 : block.ends[static_cast<std::size_t>(rank) - 1]));
}

// A rank's rows, or its columns row by row, lie together.
void RankExchange::put(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  const TensorView& x = block.x;
  float* to = part(block, rank());
  if (const auto owners = block.args.owners; !owners.empty()) {
    to += std::count(owners.begin(), owners.begin() + begin, rank()) * x.cols();
    for (std::int64_t t = begin; t < end; ++t) {
      if (owners[static_cast<std::size_t>(t)] == rank()) to = std::copy_n(x.row(t), x.cols(), to);
    }
    return;
  }
  const auto own = static_cast<std::size_t>(rank());
  const std::int64_t first = block.args.borders[own], n = block.args.borders[own + 1] - first;
  for (std::int64_t t = begin; t < end; ++t) std::copy_n(x.row(t) + first, n, to + t * n);
}

void RankExchange::meet(const Block& block) noexcept {
  if (has_failed_.load(std::memory_order_relaxed)) return;
  const std::uint64_t number =
      communicator_->publish({.first = block.first, .ends = block.ends, .leader_only = block.args.leader_only});
  auto met = communicator_->await(number, std::max(kTimeout, block.x.rows() * kRowTimeout));
  if (met) return;
  failure_ = met.error();
  has_failed_.store(true, std::memory_order_relaxed);
}

void RankExchange::take(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  if (block.args.leader_only && rank() != 0) return;
  const TensorView& x = block.x;
  for (int other = 0; other < ranks(); ++other) {
    if (other == rank()) continue;
    const float* from = part(block, other);
    if (const auto owners = block.args.owners; !owners.empty()) {
      from += std::count(owners.begin(), owners.begin() + begin, other) * x.cols();
      for (std::int64_t t = begin; t < end; ++t) {
        if (owners[static_cast<std::size_t>(t)] != other) continue;
        std::copy_n(from, x.cols(), x.row(t));
        from += x.cols();
      }
      continue;
    }
    const auto i = static_cast<std::size_t>(other);
    const std::int64_t first = block.args.borders[i], n = block.args.borders[i + 1] - first;
    for (std::int64_t t = begin; t < end; ++t) std::copy_n(from + t * n, n, x.row(t) + first);
  }
}

void RankExchange::check() {
  recorded_.clear();
  if (has_failed_.exchange(false)) throw LoadError(failure_);
}

}  // namespace millrace::backend::cpu

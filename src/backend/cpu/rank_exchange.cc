#include "backend/cpu/rank_exchange.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "comm/step_timeout.h"

namespace millrace::backend::cpu {
namespace {

constexpr std::size_t kAloneBytes = std::size_t{1} << 16;  // up to here one worker copies faster than several

constexpr std::size_t kChecksum = sizeof(std::uint64_t);
// Which blocks: spread so that no place in a step is left out.
bool is_checked(std::uint64_t block) { return (block * 0x9e3779b97f4a7c15u) >> 58 == 0; }

std::uint64_t key_of_part(std::span<const std::byte> part) {
  return std::max<std::uint64_t>(1, checksum(part.first(part.size() - kChecksum)));
}

}  // namespace

RankExchange::RankExchange(std::shared_ptr<comm::Communicator> communicator) : communicator_(std::move(communicator)) {}

std::size_t RankExchange::Content::row_bytes(int rank) const noexcept {
  const auto r = static_cast<std::size_t>(rank);
  const std::int64_t columns = args.borders[r + 1] - args.borders[r];
  return codes.weight == nullptr ? static_cast<std::size_t>(columns) * sizeof(float)
                                 : codes.weight->activation_form().cut_bytes(columns);
}

std::size_t RankExchange::Content::row_bytes() const noexcept {
  const std::int64_t columns = codes.weight == nullptr ? x.cols() : codes.weight->k();
  return codes.weight == nullptr ? static_cast<std::size_t>(columns) * sizeof(float)
                                 : codes.weight->activation_form().cut_bytes(columns);
}

// Where the bytes of each rank end.
void RankExchange::set_ends(Block& block, int ranks) {
  const Content& content = block.content;
  block.ends.clear();
  for (int rank = 0; rank < ranks; ++rank) {
    const std::size_t bytes =
        content.args.owners.empty()
            ? content.row_bytes(rank) * static_cast<std::size_t>(block.rows)
            : content.row_bytes() * static_cast<std::size_t>(std::ranges::count(content.args.owners, rank));
    block.ends.push_back((block.ends.empty() ? 0 : block.ends.back()) + bytes + kChecksum);
  }
}

void RankExchange::record(StepProgram& program, const ExchangeArgs& args, const TensorView& x) {
  record(program, Content{.args = args, .x = x, .codes = {}});
}

void RankExchange::record(StepProgram& program, const ExchangeArgs& args, const CutRows& rows) {
  record(program, Content{.args = args, .x = {}, .codes = rows});
}

void RankExchange::record(StepProgram& program, const Content& content) {
  const std::size_t row_bytes = content.row_bytes();
  const std::size_t half = communicator_->memory().size() / 2 / 64 * 64;
  const std::size_t checksums = static_cast<std::size_t>(ranks()) * kChecksum;
  CHECK(row_bytes > 0 && row_bytes + checksums <= half);
  const auto most = static_cast<std::int64_t>((half - checksums) / row_bytes);
  for (std::int64_t first = 0; first < content.rows(); first += most) {
    const std::int64_t rows = std::min(most, content.rows() - first);
    if (recorded_ == blocks_.size()) blocks_.emplace_back();
    Block& block = blocks_[recorded_];
    block.content = content;
    block.first_row = first;
    block.rows = rows;
    block.first = (communicator_->published() + recorded_++) % 2 * half;
    if (auto& owners = block.content.args.owners; !owners.empty()) {
      owners = owners.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(rows));
    }
    set_ends(block, ranks());
    const bool puts = is_read_by_others(block);
    if (static_cast<std::size_t>(rows) * row_bytes <= kAloneBytes) {
      program.add_tasks(1, [&block, rows, puts, this](std::int64_t, int) {
        if (puts) put(block, 0, rows);
        meet(block);
        take(block, 0, rows);
      });
      continue;
    }
    if (puts) {
      program.add_split(rows, 1, [&block, this](std::int64_t begin, std::int64_t end, int) { put(block, begin, end); });
    }
    program.add_tasks(1, [&block, this](std::int64_t, int) { meet(block); });
    program.add_split(rows, 1, [&block, this](std::int64_t begin, std::int64_t end, int) { take(block, begin, end); });
  }
}

std::span<std::byte> RankExchange::bytes_of(const Block& block, int rank) const noexcept {
  const auto r = static_cast<std::size_t>(rank);
  const std::size_t begin = r == 0 ? 0 : block.ends[r - 1];
  return communicator_->memory().subspan(block.first + begin, block.ends[r] - begin);
}

// A rank's rows, or its columns row by row, lie together.
void RankExchange::put(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  if (block.content.codes.weight != nullptr) return put_codes(block, begin, end);
  const TensorView& x = block.content.x;
  float* to = part(block, rank());
  if (const auto owners = block.content.args.owners; !owners.empty()) {
    to += std::count(owners.begin(), owners.begin() + begin, rank()) * x.cols();
    for (std::int64_t t = begin; t < end; ++t) {
      if (owners[static_cast<std::size_t>(t)] == rank()) to = std::copy_n(x.row(block.first_row + t), x.cols(), to);
    }
    return;
  }
  const auto own = static_cast<std::size_t>(rank());
  const std::int64_t first = block.content.args.borders[own], n = block.content.args.borders[own + 1] - first;
  for (std::int64_t t = begin; t < end; ++t) std::copy_n(x.row(block.first_row + t) + first, n, to + t * n);
}

void RankExchange::put_codes(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  const Content& content = block.content;
  const auto own = static_cast<std::size_t>(rank());
  const std::int64_t first = content.args.borders[own], n = content.args.borders[own + 1] - first;
  const std::size_t bytes = content.row_bytes(rank());
  const ActivationRows rows = content.codes.view();
  const TensorView& source = content.codes.source;
  std::byte* to = bytes_of(block, rank()).data();
  for (std::int64_t t = begin; t < end; ++t) {
    const std::int64_t row = block.first_row + t;
    if (source.data != nullptr) rows.put(*content.codes.kernels, row, first, source.row(row) + first, n);
    rows.save_columns(row, first, n, to + static_cast<std::size_t>(t) * bytes);
  }
}

void RankExchange::meet(const Block& block) noexcept {
  if (has_failed_.load(std::memory_order_relaxed)) return;
  const std::span<std::byte> own = bytes_of(block, rank());
  const bool has_key = is_read_by_others(block) && is_checked(communicator_->published() + 1);
  const std::uint64_t sum = has_key ? key_of_part(own) : 0;
  std::memcpy(own.data() + own.size() - kChecksum, &sum, kChecksum);
  const std::uint64_t number =
      communicator_->publish({.first = block.first, .ends = block.ends, .leader_only = block.content.args.leader_only});
  auto met = communicator_->await(number, comm::step_timeout(block.rows));
  if (met) met = verify(block);
  if (met) return;
  failure_ = met.error();
  has_failed_.store(true, std::memory_order_relaxed);
}

Result<void> RankExchange::verify(const Block& block) const noexcept {
  if (block.content.args.leader_only && rank() != 0) return {};
  for (int other = 0; other < ranks(); ++other) {
    const std::span<const std::byte> part = bytes_of(block, other);
    std::uint64_t sum = 0;
    std::memcpy(&sum, part.data() + part.size() - kChecksum, kChecksum);
    if (other == rank() || sum == 0 || sum == key_of_part(part)) continue;
    const int first = communicator_->rank() - rank();
    return make_error(ErrorCode::kUnavailable, "rank", "rank {} has got other bytes than rank {} has sent",
                      first + rank(), first + other);
  }
  return {};
}

void RankExchange::take(const Block& block, std::int64_t begin, std::int64_t end) const noexcept {
  const ExchangeArgs& args = block.content.args;
  if (args.leader_only && rank() != 0) return;
  const TensorView& x = block.content.x;
  for (int other = 0; other < ranks(); ++other) {
    if (other == rank()) continue;
    if (block.content.codes.weight != nullptr) {
      take_codes(block, other, begin, end);
      continue;
    }
    const float* from = part(block, other);
    if (const auto owners = args.owners; !owners.empty()) {
      from += std::count(owners.begin(), owners.begin() + begin, other) * x.cols();
      for (std::int64_t t = begin; t < end; ++t) {
        if (owners[static_cast<std::size_t>(t)] != other) continue;
        std::copy_n(from, x.cols(), x.row(block.first_row + t));
        from += x.cols();
      }
      continue;
    }
    const auto i = static_cast<std::size_t>(other);
    const std::int64_t first = args.borders[i], n = args.borders[i + 1] - first;
    for (std::int64_t t = begin; t < end; ++t) std::copy_n(from + t * n, n, x.row(block.first_row + t) + first);
  }
}

void RankExchange::take_codes(const Block& block, int other, std::int64_t begin, std::int64_t end) const noexcept {
  const auto i = static_cast<std::size_t>(other);
  const std::span<const std::int64_t> borders = block.content.args.borders;
  const std::size_t bytes = block.content.row_bytes(other);
  const ActivationRows rows = block.content.codes.view();
  const std::byte* from = bytes_of(block, other).data();
  for (std::int64_t t = begin; t < end; ++t) {
    rows.load_columns(block.first_row + t, borders[i], borders[i + 1] - borders[i],
                      from + static_cast<std::size_t>(t) * bytes);
  }
}

void RankExchange::check() {
  recorded_ = 0;
  if (has_failed_.exchange(false)) throw LoadError(failure_);
}

}  // namespace millrace::backend::cpu

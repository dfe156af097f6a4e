#include "model/ranks/rank_leader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/log.h"
#include "comm/step_timeout.h"
#include "model/weight_walk.h"

namespace millrace::model {
namespace {

constexpr std::uint64_t kCheckedSteps = 64;                      // one of so many is checked
constexpr std::uint64_t kMaxPageBytes = std::uint64_t{1} << 40;  // of what a rank says of its pages

// Pages of a store of the other ranks.
class PagesOfRanks final : public kv::PageRanks {
 public:
  // `pages`, `windows`: bytes of a page and of a window page, by rank.
  PagesOfRanks(RankLeader& leader, std::uint32_t store, std::vector<std::uint64_t> pages,
               std::vector<std::uint64_t> windows)
      : leader_(leader), store_(store), sizes_{std::move(pages), std::move(windows)} {}
  ~PagesOfRanks() override { leader_.end_store(store_); }
  std::size_t page_bytes(bool windowed) const noexcept override {
    std::size_t bytes = 0;
    for (std::size_t rank = 1; rank < sizes_[windowed].size(); ++rank) bytes += sizes_[windowed][rank];
    return bytes;
  }
  bool intact() const noexcept override { return leader_.intact(); }
  std::uint32_t store() const noexcept override { return store_; }
  void copy(bool windowed, kv::BlockId from, kv::BlockId to) override {
    leader_.try_send(RankPageCopy{{store_, windowed, from}, to});
  }
  void read(bool windowed, kv::BlockId page, std::span<std::byte> out) override {
    std::vector<std::vector<std::byte>> parts;
    if (!leader_.try_ask(RankPageRead{{store_, windowed, page}}, parts)) return;
    for (std::size_t rank = 1; rank <= parts.size(); ++rank) {
      const std::vector<std::byte>& part = parts[rank - 1];
      if (part.size() != sizes_[windowed][rank]) {
        return leader_.lose(make_error(ErrorCode::kUnavailable, "rank",
                                       "rank {} answers a page of {} bytes: must be {}", rank, part.size(),
                                       sizes_[windowed][rank]));
      }
      std::ranges::copy(part, out.begin());
      out = out.subspan(part.size());
    }
  }
  void write(bool windowed, kv::BlockId page, std::span<const std::byte> in) override {
    leader_.try_send(RankPageWrite{{store_, windowed, page}, sizes_[windowed], {in.begin(), in.end()}});
  }
  void give_back(bool windowed, const Parts& parts, std::vector<kv::BlockId> kept) override {
    leader_.try_send(RankGiveBack{store_, windowed, parts.first, parts.end, parts.all, std::move(kept)});
  }

 private:
  RankLeader& leader_;
  std::uint32_t store_;
  std::vector<std::uint64_t> sizes_[2];  // of pages and of window pages, by rank
};

}  // namespace

RankLeader::~RankLeader() { try_send(RankEnd{}); }

std::vector<std::byte> RankLeader::bytes_of(const RankCommand& command) const {
  ByteWriter bytes;
  bytes(command);
  return bytes.take();
}

void RankLeader::send_bytes(std::span<const std::byte> bytes) {
  if (lost_) throw LoadError(*lost_);
  if (auto sent = communicator_->send(bytes, kTimeout); !sent) {
    lose(sent.error());
    throw LoadError(sent.error());
  }
  commands_key_ = next_commands_key(commands_key_, bytes);
}

void RankLeader::send(const RankCommand& command) { send_bytes(bytes_of(command)); }

bool RankLeader::try_send(const RankCommand& command) noexcept {
  try {
    send(command);
    return true;
  } catch (const LoadError& failure) {
    log::debug("ranks: {}", failure.what());
    return false;
  }
}

std::vector<std::vector<std::byte>> RankLeader::ask(const RankCommand& command, comm::Communicator::Timeout timeout) {
  send(command);
  const std::uint64_t key = commands_key_;
  std::vector<AnswerQueue::Ticket> tickets;
  for (int rank = 1; rank < ranks(); ++rank) tickets.push_back(answers_.expect(rank, 1));
  std::vector<std::vector<std::byte>> answers;
  try {
    for (const AnswerQueue::Ticket& ticket : tickets) {
      answers.push_back(answers_.next(ticket, timeout));
      check_key(ticket.rank, answers.back(), key);
    }
  } catch (const LoadError& failure) {
    lose(failure.error());
    throw;
  }
  return answers;
}

bool RankLeader::try_ask(const RankCommand& command, std::vector<std::vector<std::byte>>& answers) noexcept {
  try {
    answers = ask(command, kTimeout);
    return true;
  } catch (const LoadError& failure) {
    log::debug("ranks: {}", failure.what());
    return false;
  }
}

template <typename Answer>
std::vector<Answer> RankLeader::ask_for(const RankCommand& command, comm::Communicator::Timeout timeout) {
  std::vector<Answer> all;
  for (const std::vector<std::byte>& bytes : ask(command, timeout)) {
    ByteReader reader(bytes);
    reader(all.emplace_back());
    if (!reader.ok() || reader.left() > 0) refuse(static_cast<int>(all.size()), "bytes that are no answer");
  }
  return all;
}

// Such a rank is as good as one that has ended.
void RankLeader::refuse(int rank, std::string_view what) {
  lose(make_error(ErrorCode::kUnavailable, "rank", "rank {} answers with {}", rank, what));
  throw LoadError(*lost_);
}

void RankLeader::check_key(int rank, std::vector<std::byte>& answer, std::uint64_t expected) {
  const auto key = take_number(answer);
  if (!key) refuse(rank, "bytes that are no answer");
  if (*key != expected) refuse(rank, "other commands than it was sent: one was lost or doubled on the way");
}

void RankLeader::lose(const Error& why) {
  lost_ = why;
  steps_.clear();
  answers_.forget();
}

void RankLeader::restore() {
  lost_.reset();
  commands_key_ = 0;
  adapters_.clear();  // what steps still name they get again
  for (const auto& [number, store] : stores_) {
    for (const RankStoreMade& made : ask_for<RankStoreMade>(store)) {
      if (!made.made) {
        throw_load_error(ErrorCode::kResourceExhausted, "", "a rank's memory is too short for its keys and values");
      }
    }
  }
  if (!int8x2_.empty()) send(RankInt8x2{int8x2_});
}

void RankLeader::end_store(std::uint32_t store) noexcept {
  stores_.erase(store);
  try_send(RankStoreEnd{store});
}

void RankLeader::set_int8x2(std::vector<std::string> weights) {
  send(RankInt8x2{weights});
  int8x2_ = std::move(weights);
}

std::vector<RankCounts> RankLeader::take_statistics() { return ask_for<RankCounts>(RankStatistics{}); }

void RankLeader::share(const Adapter& adapter) {
  if (adapters_.has(adapter)) return;
  adapters_.share(
      adapter, [this](const RankCommand& command) { send(command); },
      [this](const RankCommand& command, comm::Communicator::Timeout timeout) {
        return ask_for<RankAdapterRead>(command, timeout);
      });
}

Result<void> RankLeader::try_share(const Adapter& adapter) {
  if (lost_) return {};
  try {
    share(adapter);
    return {};
  } catch (const LoadError& failure) {
    if (lost_) return {};
    Error error = failure.error();
    error.code = ErrorCode::kUnavailable;
    return error;
  }
}

std::uint64_t RankLeader::step(const BatchInput& input, std::uint32_t store, std::span<const int> state_ranks) {
  const RankTimer since_begin = timer();
  adapters_.send_news([this](const RankCommand& command) { send(command); });
  for (const AdapterRange& range : input.adapters) share(*range.adapter);
  RankStep step{.number = next_step_++,
                .store = store,
                .tokens = input.tokens,
                .sequences = {},
                .pages = {},
                .rope_lengths = input.rope_lengths,
                .logit_rows = input.logit_rows,
                .scored_rows = input.scored_rows,
                .hidden_rows = input.hidden_rows,
                .layers = input.layers,
                .state_layers = {},
                .has_windows = !input.window_pages.empty(),
                .adapters = {}};
  if (!state_ranks.empty()) step.state_layers.assign(input.hook->layers().begin(), input.hook->layers().end());
  step.checks_residual = step.number % kCheckedSteps == 0;
  for (const AdapterRange& range : input.adapters) {
    step.adapters.push_back({range.adapter->id(), range.first_row, range.n_rows, range.scale});
  }
  for (std::size_t i = 0; i < input.sequences.size(); ++i) {
    const backend::SequenceRows& rows = input.sequences[i];
    const auto window = step.has_windows ? input.window_pages[i] : std::span<const std::int32_t>();
    step.sequences.push_back(
        {rows.first_row, rows.n_rows, rows.first_position, std::ssize(rows.pages), std::ssize(window)});
    step.pages.insert(step.pages.end(), rows.pages.begin(), rows.pages.end());
    step.pages.insert(step.pages.end(), window.begin(), window.end());
  }
  Step launched{.number = step.number,
                .timer = since_begin,
                .checks_residual = step.checks_residual,
                .timeout = (1 + communicator_->stages()) * comm::step_timeout(std::ssize(step.tokens))};
  const std::vector<std::byte> bytes = bytes_of(std::move(step));
  send_bytes(bytes);
  launched.commands_key = commands_key_;
  const auto blocks = [](const std::vector<std::int64_t>& rows) {
    return (std::ssize(rows) + kSinkRows - 1) / kSinkRows;
  };
  const std::int64_t results =
      (input.logit_rows.empty() ? 0 : 1) + blocks(input.scored_rows) + blocks(input.hidden_rows);
  for (int rank = 1; rank < ranks(); ++rank) {
    const std::int64_t rows = std::ranges::count(state_ranks, rank) + (rank == result_rank() ? results : 0);
    launched.reports.push_back(answers_.expect(rank, rows + 1));
  }
  steps_.push_back(std::move(launched));
  return steps_.back().number;
}

std::vector<std::byte> RankLeader::next_rows(std::size_t index, int rank) {
  if (lost_) throw LoadError(*lost_);  // no step is left
  const Step& step = steps_[index];
  return answers_.next(step.reports[static_cast<std::size_t>(rank) - 1], step.timeout);
}

std::vector<std::byte> RankLeader::next_result(std::size_t index, std::size_t bytes) {
  std::vector<std::byte> rows = next_rows(index, result_rank());
  if (rows.size() != bytes) {
    throw_load_error(ErrorCode::kUnavailable, "rank", "the last stage answers {} bytes instead of {}", rows.size(),
                     bytes);
  }
  return rows;
}

void RankLeader::computed(std::uint64_t residual_key) {
  Step& step = steps_.back();
  step.residual_key = residual_key;
  step.own = step.timer.time();
}

RankReport RankLeader::finish_step(std::size_t index, const RankTimer& timer) {
  if (lost_) throw LoadError(*lost_);
  Step step = std::move(steps_[index]);
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(index));
  times_.assign(1, {});
  std::uint64_t residual_key = step.residual_key;
  RankReport sum;
  sum.weight_rounds = std::numeric_limits<std::int64_t>::max();
  for (const AnswerQueue::Ticket& ticket : step.reports) {
    std::vector<std::byte> bytes = answers_.next(ticket, step.timeout);
    check_key(ticket.rank, bytes, step.commands_key);
    RankReport report;
    ByteReader reader(bytes);
    reader(report);
    if (!reader.ok() || reader.left() > 0) refuse(ticket.rank, "bytes that are no report of a step");
    if (report.step != step.number) {
      refuse(ticket.rank, fmt::format("step {}, and was told step {}", report.step, step.number));
    }
    if (!report.damage.empty()) {
      throw_load_error(ErrorCode::kUnavailable, kDamage, "rank {}: {}", ticket.rank, report.damage);
    }
    sum.weight_rounds = std::min(sum.weight_rounds, report.weight_rounds);
    const int place = ticket.rank % communicator_->stage_ranks();
    if (place == 0) residual_key = report.residual_key;  // the first of the next stage
    if (step.checks_residual && report.residual_key != residual_key) {
      refuse(ticket.rank, fmt::format("other rows in step {} than rank {} has: one of them is damaged", step.number,
                                      ticket.rank - place));
    }
    sum.experts += report.experts;
    std::ranges::move(report.overflows, std::back_inserter(sum.overflows));
    times_.push_back(report.time);
  }
  times_[0] = step.own += timer.time();
  return sum;
}

Result<std::shared_ptr<kv::PageRanks>> RankLeader::make_store(RankStore store, const RankStoreMade& made) {
  store.store = next_store_++;
  std::vector<RankStoreMade> all = ask_for<RankStoreMade>(store);
  all.insert(all.begin(), made);
  std::vector<int> without;
  std::vector<std::uint64_t> pages, windows;
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (const std::uint64_t most = std::max(all[rank].page, all[rank].window_page); most > kMaxPageBytes) {
      refuse(static_cast<int>(rank), fmt::format("pages of {} bytes: at most {} are possible", most, kMaxPageBytes));
    }
    if (!all[rank].made) without.push_back(static_cast<int>(rank));
    pages.push_back(all[rank].page);
    windows.push_back(all[rank].window_page);
  }
  auto others = std::make_shared<PagesOfRanks>(*this, store.store, std::move(pages), std::move(windows));
  if (!without.empty()) {
    return make_error(ErrorCode::kResourceExhausted, "kv-cache-tokens",
                      "the memory of rank {} is too short for {} pages of keys and values", fmt::join(without, ", "),
                      store.pages);
  }
  stores_[store.store] = std::move(store);
  return std::shared_ptr<kv::PageRanks>(std::move(others));
}

}  // namespace millrace::model

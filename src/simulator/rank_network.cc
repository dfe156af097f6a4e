#include "simulator/rank_network.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/checksum.h"
#include "base/counter_rng.h"

namespace millrace::simulator {
namespace {

constexpr std::int64_t kMaxLateMs = 8000;  // longer than any wait for a step of few rows

Error ended(int rank) { return make_error(ErrorCode::kUnavailable, "rank", "rank {} has ended", rank); }

std::vector<std::byte> copy_of(std::span<const std::byte> message) { return {message.begin(), message.end()}; }

}  // namespace

// One rank's end of the network.
class NetworkEnd final : public comm::Communicator {
 public:
  NetworkEnd(RankNetwork& network, int rank) : network_(network), rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return network_.ranks(); }
  int stages() const noexcept override { return network_.shape_.stages; }
  std::span<std::byte> memory() noexcept override { return network_.memory_[static_cast<std::size_t>(stage())]; }
  std::uint64_t publish(const Block&) noexcept override { return ++network_.of(rank_).published; }
  std::uint64_t published() const noexcept override { return network_.of(rank_).published; }
  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override {
    if (auto alive = network_.may_die(rank_); !alive) return alive;
    for (int place = 0; place < stage_ranks(); ++place) {
      const int other = stage() * stage_ranks() + place;
      const auto come = [&] { return network_.of(other).published >= block; };
      if (auto waited = network_.wait_for(other, timeout, come); !waited) return waited;
    }
    return {};
  }
  Result<void> send(std::span<const std::byte> command, Timeout) noexcept override { return network_.send(command); }
  Result<std::vector<std::byte>> receive(Timeout) override {
    if (auto alive = network_.may_die(rank_); !alive) return alive.error();
    return network_.receive(rank_);
  }
  Result<void> answer(std::span<const std::byte> message, Timeout) noexcept override {
    if (auto alive = network_.may_die(rank_); !alive) return alive;
    network_.pass_on(network_.of(rank_).answers, message, RankFaults::Of::kAnswer);
    return {};
  }
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override {
    return take_from(network_.of(rank).answers, rank, timeout);
  }
  Result<void> pass(std::span<const std::byte> message, Timeout) noexcept override {
    if (auto alive = network_.may_die(rank_); !alive) return alive;
    network_.pass_on(network_.of(rank_ + stage_ranks()).rows, message, RankFaults::Of::kRows);
    return {};
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override {
    if (auto alive = network_.may_die(rank_); !alive) return alive.error();
    return take_from(network_.of(rank_).rows, rank_ - stage_ranks(), timeout);
  }

 private:
  Result<std::vector<std::byte>> take_from(std::deque<RankNetwork::Message>& messages, int from, Timeout timeout) {
    if (auto waited = network_.wait_for(from, timeout, [&] { return !messages.empty(); }); !waited) {
      return waited.error();
    }
    std::vector<std::byte> message = std::move(messages.front());
    messages.pop_front();
    return message;
  }

  RankNetwork& network_;
  int rank_;
};

RankNetwork::RankNetwork(const Shape& shape, MemoryEnv& env, RankFaults& faults, Follow follow)
    : shape_(shape), env_(env), faults_(faults), follow_(std::move(follow)) {
  restart();
}

RankNetwork::~RankNetwork() = default;

std::unique_ptr<comm::Communicator> RankNetwork::communicator(int rank) {
  return std::make_unique<NetworkEnd>(*this, rank);
}

void RankNetwork::restart() {
  ranks_.clear();
  ranks_.resize(static_cast<std::size_t>(ranks()));
  memory_.assign(static_cast<std::size_t>(shape_.stages), std::vector<std::byte>(shape_.memory));
  disturbed_ = tampered_ = false;
}

bool RankNetwork::happens(RankFault fault, RankFaults::Of of) {
  if (!faults_.happens(fault, of)) return false;
  disturbed_ = true;
  return true;
}

void RankNetwork::in_order(int rank, std::function<void()> work) {
  Rank& to = of(rank);
  if (to.dead) return;
  if (to.commands.empty()) return work();
  to.commands.push_back({.work = std::move(work)});
}

std::optional<Error> RankNetwork::death(int except) const {
  for (int rank = 1; rank < ranks(); ++rank) {
    if (rank != except && of(rank).dead) return ended(rank);
  }
  return std::nullopt;
}

bool RankNetwork::all_live() const noexcept { return !death(0); }

// That one has ended is noticed now or with a later message.
Result<void> RankNetwork::send(std::span<const std::byte> command) {
  if (const auto dead = death(0); dead && faults_.pick(0, 1) == 0) return *dead;
  const std::uint64_t key = checksum(command);
  ranks_[0].history = rng::mix(ranks_[0].history ^ key);
  ++sent_[static_cast<std::size_t>(command[0])];
  for (int rank = 1; rank < ranks(); ++rank) deliver(of(rank), command);
  return {};
}

void RankNetwork::deliver(Rank& to, std::span<const std::byte> command) {
  constexpr auto kOf = RankFaults::Of::kCommand;
  const TimePoint now = env_.time;
  std::deque<Command>& queue = to.commands;
  if (happens(RankFault::kLost, kOf)) {
    tampered_ = true;
    return;
  }
  queue.push_back({.bytes = copy_of(command), .ready = now});
  if (happens(RankFault::kLate, kOf)) {
    queue.back().ready = now + std::chrono::milliseconds(faults_.pick(1, kMaxLateMs));
  }
  if (happens(RankFault::kDoubled, kOf)) {
    tampered_ = true;
    queue.push_back(queue.back());
  } else if (happens(RankFault::kDamaged, kOf)) {
    tampered_ = true;
    Message& bytes = queue.back().bytes;
    const auto at = static_cast<std::size_t>(faults_.pick(0, std::ssize(bytes) - 1));
    bytes[at] ^= static_cast<std::byte>(faults_.pick(1, 255));
  } else if (queue.size() > 1 && !queue[queue.size() - 2].work && happens(RankFault::kOvertaken, kOf)) {
    tampered_ = true;
    std::swap(queue.back(), queue[queue.size() - 2]);
  }
}

void RankNetwork::pass_on(std::deque<Message>& to, std::span<const std::byte> message, RankFaults::Of of) {
  if (happens(RankFault::kLost, of)) return;
  to.push_back(copy_of(message));
  if (happens(RankFault::kDoubled, of)) to.push_back(to.back());
}

RankNetwork::Message RankNetwork::receive(int rank) {
  Rank& own = of(rank);
  CHECK(!own.commands.empty());
  Message bytes = std::move(own.commands.front().bytes);
  own.commands.pop_front();
  own.history = rng::mix(own.history ^ checksum(bytes));
  return bytes;
}

// A rank may be killed wherever it has to do with others. Rank 0 is the process itself: see FaultPlan::Restart.
Result<void> RankNetwork::may_die(int rank) {
  Rank& own = of(rank);
  if (rank != 0 && !own.dead && happens(RankFault::kDied, RankFaults::Of::kRank)) own.dead = ended(rank);
  if (own.dead) return *own.dead;
  return {};
}

// What in_order() has put before the next command of a rank that lives.
void RankNetwork::do_work(Rank& of) {
  while (!of.dead && !of.commands.empty() && of.commands.front().work) {
    const auto work = std::move(of.commands.front().work);
    of.commands.pop_front();
    work();
  }
}

// The rank follows its next command. False: none has come, or it cannot follow any.
bool RankNetwork::advance(int rank) {
  Rank& own = of(rank);
  if (own.dead || own.runs) return false;
  do_work(own);
  if (own.commands.empty() || own.commands.front().ready > env_.time) return false;
  own.runs = true;
  try {
    follow_(rank);
  } catch (const LoadError& failure) {
    if (!own.dead) own.dead = failure.error();
  }
  own.runs = false;
  do_work(own);
  return true;
}

// Until what that rank does has `come`. What no rank can go on without takes time; rank 0 has a limit of it.
template <typename Come>
Result<void> RankNetwork::wait_for(int rank, comm::Communicator::Timeout timeout, const Come& come) {
  const TimePoint before = deadline_;
  deadline_ = std::min(deadline_, env_.time + timeout);
  Result<void> result;
  while (!come()) {
    if (const auto dead = death(-1)) {
      result = *dead;
      break;
    }
    if (advance(rank)) continue;
    const std::deque<Command>& commands = of(rank).commands;
    if (!of(rank).runs && !commands.empty() && commands.front().ready > env_.time &&
        commands.front().ready <= deadline_) {
      env_.time = commands.front().ready;
      continue;
    }
    env_.time = std::max(env_.time, deadline_ == TimePoint::max() ? env_.time : deadline_);
    result = make_error(ErrorCode::kUnavailable, "rank", "rank {} has not come", rank);
    break;
  }
  deadline_ = before;
  return result;
}

void RankNetwork::drain() {
  const TimePoint before = std::exchange(deadline_, env_.time);
  for (int rank = 1; rank < ranks(); ++rank) {
    while (advance(rank)) {
    }
  }
  deadline_ = before;
}

}  // namespace millrace::simulator

#include "comm/transports/mpi_end.h"

#include <algorithm>
#include <chrono>
#include <climits>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/worker_team.h"

namespace millrace::comm {
namespace {

using MpiClock = std::chrono::steady_clock;

constexpr int kMpiLooks = 4000;  // of a rank that waits, before it sleeps
constexpr int kLooksWithoutClock = 64, kLooksForReady = 100;
// How long it sleeps, the longer the longer it has waited: the first command after a pause is late by so much. `rare`:
// for the next model, on a thread beside those that compute, which must not be woken for nothing.
constexpr std::chrono::microseconds nap_after(std::chrono::nanoseconds waited, bool rare) {
  using namespace std::chrono_literals;
  if (rare && waited >= 1s) return 20ms;
  return waited < 100ms ? 50us : waited < 10s ? 1000us : 5000us;
}
constexpr std::size_t kMaxUnderWay = std::size_t{4} << 20;  // bytes under way before send() waits

Error cancelled() { return make_error(ErrorCode::kCancelled, "rank", "rank 0 has no more use for the group"); }

std::shared_ptr<const MpiMail::Message> copy_of(std::span<const std::byte> bytes) {
  return std::make_shared<const MpiMail::Message>(bytes.begin(), bytes.end());
}

}  // namespace

MpiEnd::MpiEnd(MpiProcess& process, int group)
    : process_(process),
      calls_(process.calls),
      group_(group),
      count_(process.published[static_cast<std::size_t>(group)]),
      commands_(calls_, mpi_way(group, MpiChannel::kCommands), process.ranks),
      answers_(calls_, mpi_way(group, MpiChannel::kAnswers), process.ranks),
      passed_(calls_, mpi_way(group, MpiChannel::kPassed), process.ranks),
      taken_(static_cast<std::size_t>(process.ranks)) {}

Result<void> MpiEnd::allocate(std::size_t bytes) {
  CHECK(pending_.empty() && bytes <= static_cast<std::size_t>(INT_MAX));
  auto made = Buffer::allocate(bytes);
  if (!made) return made.error();
  memory_ = *std::move(made);
  return {};
}

std::uint64_t MpiEnd::publish(const Block& block) noexcept {
  Exchange exchange = spare_.empty() ? Exchange() : std::move(spare_.back());
  if (!spare_.empty()) spare_.pop_back();
  exchange.bytes.clear();
  exchange.at.clear();
  std::size_t before = 0;
  for (const std::size_t end : block.ends) {
    exchange.at.push_back(static_cast<int>(before));
    exchange.bytes.push_back(static_cast<int>(end - before));
    before = end;
  }
  CHECK(block.first + before <= memory_.size());
  Exchange& begun = pending_.emplace_back(std::move(exchange));
  if (!process_.is_lost()) {
    const std::scoped_lock lock(process_.mutex);
    begin_error_ = block.ends.empty() ? calls_.barrier(group_, &begun.request)
                                      : calls_.gather(group_, memory_.data() + block.first, begun.bytes.data(),
                                                      begun.at.data(), block.leader_only ? 1 : 0, &begun.request);
  }
  return count_.fetch_add(1, std::memory_order_relaxed) + 1;
}

int MpiEnd::end_exchanges(std::uint64_t block, bool& done) {
  while (!pending_.empty() && published() - pending_.size() < block) {
    int is_done = 0;
    if (const int error = calls_.test(&pending_.front().request, &is_done)) return error;
    if (is_done == 0) return 0;
    spare_.push_back(std::move(pending_.front()));
    pending_.pop_front();
  }
  done = true;
  return 0;
}

Result<void> MpiEnd::await(std::uint64_t block, Timeout timeout) noexcept {
  if (begin_error_ != 0) return process_.fail(begin_error_);
  const auto look = [&](bool& done) { return end_exchanges(block, done); };
  return wait(timeout, look, [&] { return process_.late(who_is_late(block), timeout); });
}

Result<void> MpiEnd::send(std::span<const std::byte> command, Timeout timeout) noexcept {
  CHECK(rank() == 0);
  std::vector<int> others;
  for (int other = 1; other < ranks(); ++other) others.push_back(other);
  return write(commands_, others, command, timeout);
}

Result<std::vector<std::byte>> MpiEnd::receive(Timeout timeout) {
  CHECK(rank() != 0);
  std::optional<std::vector<std::byte>> message;
  const auto look = [&](bool& done) {
    const bool is_over = is_cancelled_;  // first: what came before is received
    const int error = commands_.look(0, message);
    done = message.has_value() || (is_over && !commands_.is_coming(0));
    return error;
  };
  if (auto come = wait(timeout, look, [&] { return process_.late(0, timeout); }); !come) return come.error();
  if (!message) return cancelled();
  return *std::move(message);
}

Result<void> MpiEnd::answer(std::span<const std::byte> message, Timeout timeout) noexcept {
  CHECK(rank() != 0);
  return write(answers_, {0}, message, timeout);
}

Result<std::vector<std::byte>> MpiEnd::collect(int rank, Timeout timeout) {
  CHECK(process_.rank == 0 && rank != 0);
  std::deque<MpiMail::Message>& taken = taken_[static_cast<std::size_t>(rank)];
  const auto look = [&](bool& done) {
    const int error = take_answers();
    done = !taken.empty();
    return error;
  };
  if (auto come = wait(timeout, look, [&] { return process_.late(rank, timeout); }); !come) return come.error();
  MpiMail::Message message = std::move(taken.front());
  taken.pop_front();
  return message;
}

Result<void> MpiEnd::pass(std::span<const std::byte> message, Timeout timeout) noexcept {
  CHECK(stage() + 1 < stages());
  return write(passed_, {rank() + stage_ranks()}, message, timeout);
}

Result<std::vector<std::byte>> MpiEnd::take(Timeout timeout) {
  CHECK(stage() > 0);
  return read(passed_, rank() - stage_ranks(), timeout);
}

int MpiEnd::flush_mail(bool& done) {
  for (MpiMail* mail : {&commands_, &answers_, &passed_}) {
    if (const int error = mail->flush()) return error;
    if (mail->under_way() > 0) return 0;
  }
  done = true;
  return 0;
}

Result<void> MpiEnd::flush(Timeout timeout) {
  const auto look = [this](bool& done) { return flush_mail(done); };
  return wait(timeout, look, [&] { return process_.late(0, timeout); });
}

int MpiEnd::forget_mail(bool& done) {
  for (MpiMail* mail : {&commands_, &answers_, &passed_}) {
    for (int other = 0; other < ranks(); ++other) {
      std::optional<MpiMail::Message> message;
      do {
        message.reset();
        if (const int error = mail->look(other, message)) return error;
      } while (message);
      if (mail->is_coming(other)) return 0;
    }
  }
  done = true;
  return 0;
}

Result<void> MpiEnd::clear(Timeout timeout) {
  const auto look = [this](bool& done) {
    bool exchanged = false, sent = false, forgotten = false;
    if (const int error = end_exchanges(published(), exchanged)) return error;
    if (const int error = flush_mail(sent)) return error;
    if (const int error = forget_mail(forgotten)) return error;
    done = exchanged && sent && forgotten;
    return 0;
  };
  if (auto ended = wait(timeout, look, [&] { return process_.late(who_is_late(published()), timeout); }); !ended) {
    return ended;
  }
  for (std::deque<MpiMail::Message>& answers : taken_) answers.clear();
  memory_ = {};
  count_ = 0;
  is_cancelled_ = false;
  return {};
}

// Until look(done) says so. It returns an error of the library, and has the library for itself.
template <typename Look, typename Late>
Result<void> MpiEnd::wait(Timeout timeout, const Look& look, const Late& late) {
  SpinWait spin;
  MpiClock::time_point begin{};
  for (std::int64_t looks = 0;; ++looks) {
    if (process_.is_lost()) return *process_.life->lost();
    bool done = false;
    int error = 0;
    {
      const std::scoped_lock lock(process_.mutex);
      error = look(done);
    }
    if (error != 0) return process_.fail(error);
    if (done) return {};
    const bool sleeps = looks >= kMpiLooks;
    if (!sleeps && looks % kLooksWithoutClock != kLooksWithoutClock - 1) {
      spin.wait();
      continue;
    }
    // A rank that waits for room for an answer may be the one that this one waits for.
    if (rank() == 0 && process_.life != nullptr) {
      const std::scoped_lock lock(process_.mutex);
      if (error = take_answers(); error == 0) error = commands_.flush();
    }
    if (error != 0) return process_.fail(error);
    const MpiClock::time_point now = MpiClock::now();
    if (looks < kLooksWithoutClock) begin = now;
    if (now - begin >= timeout) return late();
    if (!sleeps) {
      spin.wait();
    } else {
      std::this_thread::sleep_for(nap_after(now - begin, group_ == 0));
    }
  }
}

int MpiEnd::take_answers() {
  for (int other = 1; other < ranks(); ++other) {
    std::optional<MpiMail::Message> message;
    if (const int error = answers_.look(other, message)) return error;
    if (message) taken_[static_cast<std::size_t>(other)].push_back(*std::move(message));
  }
  return 0;
}

Result<void> MpiEnd::write(MpiMail& mail, const std::vector<int>& to, std::span<const std::byte> message,
                           Timeout timeout) {
  if (message.size() > kMaxCommand) {
    return make_error(ErrorCode::kInternal, "", "rank {} has a message of {} bytes: at most {} are possible", rank(),
                      message.size(), kMaxCommand);
  }
  bool fits = false;
  const auto has_room = [&](bool& done) {
    const int error = mail.flush();
    fits = mail.under_way() <= kMaxUnderWay;
    done = fits || is_cancelled_;
    return error;
  };
  const auto too_late = [&] { return process_.late(who_is_late(published() + 1), timeout); };
  if (auto room = wait(timeout, has_room, too_late); !room) return room;
  if (!fits) return cancelled();
  const auto copy = copy_of(message);
  int error = 0;
  {
    const std::scoped_lock lock(process_.mutex);
    for (std::size_t i = 0; i < to.size() && error == 0; ++i) error = mail.send(to[i], copy);
    // Long messages go when the other one has said that it is ready, and the library looks: it may not be called
    // soon.
    for (int look = 0; look < kLooksForReady && error == 0 && mail.under_way() > 0; ++look) error = mail.flush();
  }
  return error == 0 ? Result<void>() : process_.fail(error);
}

Result<std::vector<std::byte>> MpiEnd::read(MpiMail& mail, int from, Timeout timeout) {
  std::optional<std::vector<std::byte>> message;
  const auto look = [&](bool& done) {
    const int error = mail.look(from, message);
    done = message.has_value();
    return error;
  };
  if (auto come = wait(timeout, look, [&] { return process_.late(from, timeout); }); !come) return come.error();
  return *std::move(message);
}

}  // namespace millrace::comm

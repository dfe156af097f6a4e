#include "comm/transports/mpi_life.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/byte_archive.h"
#include "base/thread_name.h"

namespace millrace::comm {
namespace {

constexpr std::chrono::milliseconds kBetweenBeats{200};
constexpr std::chrono::seconds kSilence{4}, kSilenceOfLeader{10};
constexpr std::size_t kMaxBeats = std::size_t{1} << 16;  // of beats; one that does not read gets no more

enum class Life : std::uint8_t { kBeat, kLastWord, kEnd };
struct LifeMessage {
  Life kind = Life::kBeat;
  std::vector<std::uint64_t> published;  // by group
  ErrorCode code = ErrorCode::kUnavailable;
  std::string text;
};
template <typename Archive>
void visit_fields(Archive& archive, LifeMessage& message) {
  archive(message.kind, message.published, message.code, message.text);
}

}  // namespace

MpiLife::MpiLife(MpiMail& mail, std::mutex& calls, const MpiPublished& published, std::vector<Rank> ranks, int rank,
                 std::function<Error(int)> error_of)
    : mail_(mail),
      calls_(calls),
      published_(published),
      ranks_(std::move(ranks)),
      rank_(rank),
      error_of_(std::move(error_of)),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  for (int other = 0; other < static_cast<int>(ranks_.size()); ++other) {
    if (other == rank_ || (rank_ != 0 && other != 0)) continue;
    const int process = ranks_[static_cast<std::size_t>(other)].process;
    const int watch = process == 0 ? -1 : static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    watched_.push_back({.rank = other, .process = watch, .heard = Clock::now(), .published = {}});
  }
  if (!watched_.empty()) thread_ = std::jthread([this] { run(); });
}

MpiLife::~MpiLife() {
  ends_ = true;
  eventfd_write(wake_, 1);
  if (thread_.joinable()) thread_.join();
  for (const Watched& it : watched_) {
    if (it.process >= 0) close(it.process);
  }
  close(wake_);
}

std::optional<Error> MpiLife::lost() const {
  const std::scoped_lock lock(mutex_);
  return lost_;
}

void MpiLife::lose(const Error& why) {
  std::function<void(const Error&)> call;
  {
    const std::scoped_lock lock(mutex_);
    if (lost_) return;
    lost_ = why;
    is_lost_ = true;
    call = call_;
  }
  eventfd_write(wake_, 1);
  if (call) call(why);
}

void MpiLife::on_lost(std::function<void(const Error&)> call) {
  std::optional<Error> before;
  {
    const std::scoped_lock lock(mutex_);
    before = lost_;
    call_ = call;
  }
  if (before) call(*before);
}

int MpiLife::late(int group, std::uint64_t block) const {
  const std::scoped_lock lock(mutex_);
  if (watched_.empty()) return 0;
  const auto longest = std::ranges::min_element(watched_, {}, &Watched::heard);
  if (rank_ != 0 || Clock::now() - longest->heard > 3 * kBetweenBeats) return longest->rank;
  const auto published = [&](const Watched& it) {
    const auto at = static_cast<std::size_t>(group);
    return at < it.published.size() ? it.published[at] : 0;
  };
  const auto least = std::ranges::min_element(watched_, {}, published);
  return published(*least) < block ? least->rank : 0;
}

void MpiLife::run() {
  name_thread("ranks");
  Clock::time_point before = Clock::now();
  while (sleep()) {
    if (const int error = exchange_beats(); error != 0) lose(error_of_(error));
    look_for_the_silent(std::exchange(before, Clock::now()));
  }
}

bool MpiLife::sleep() {
  std::vector<pollfd> events = {{.fd = wake_, .events = POLLIN, .revents = 0}};
  const bool watches = !is_lost();
  for (const Watched& it : watched_) {
    if (watches && it.process >= 0) events.push_back({.fd = it.process, .events = POLLIN, .revents = 0});
  }
  poll(events.data(), events.size(), static_cast<int>(kBetweenBeats.count()));
  eventfd_t count = 0;
  eventfd_read(wake_, &count);
  for (const pollfd& event : events) {
    const auto it = std::ranges::find(watched_, event.fd, &Watched::process);
    if (event.fd == wake_ || (event.revents & POLLIN) == 0 || it == watched_.end()) continue;
    lose(make_error(ErrorCode::kUnavailable, "rank", "{} has ended", ranks_[static_cast<std::size_t>(it->rank)].name));
  }
  return !ends_;
}

int MpiLife::exchange_beats() {
  LifeMessage own;
  own.published.assign(published_.begin(), published_.end());
  bool is_last = false;
  {
    const std::scoped_lock lock(mutex_);
    // Others than the leader do not say what it finds out itself: they may take one that waits for the one that is
    // gone.
    is_last = lost_ && !std::exchange(has_told_, true) && (rank_ == 0 || lost_->code != ErrorCode::kUnavailable);
    if (is_last) {
      own.kind = rank_ == 0 ? Life::kEnd : Life::kLastWord;
      own.code = lost_->code;
      own.text = lost_->message;
    }
  }
  ByteWriter bytes;
  bytes(own);
  const auto message = std::make_shared<const MpiMail::Message>(bytes.take());
  int first_error = 0;
  for (Watched& it : watched_) {
    const int error = exchange_with(it, message, is_last);
    if (first_error == 0) first_error = error;
  }
  return first_error;
}

int MpiLife::exchange_with(Watched& it, const std::shared_ptr<const MpiMail::Message>& own, bool is_last) {
  std::optional<MpiMail::Message> received;
  do {
    received.reset();
    {
      const std::scoped_lock lock(calls_);
      if (const int error = mail_.look(it.rank, received)) return error;
    }
    if (received) read(it, *received);
  } while (received);
  const std::scoped_lock lock(calls_);
  if (const int error = mail_.flush()) return error;
  if (!is_last && (is_lost() || mail_.under_way() > kMaxBeats)) return 0;
  return mail_.send(it.rank, own);
}

void MpiLife::read(Watched& from, const MpiMail::Message& message) {
  LifeMessage it;
  ByteReader reader(message);
  reader(it);
  if (!reader.ok()) return;
  {
    const std::scoped_lock lock(mutex_);
    from.heard = Clock::now();
    from.published = std::move(it.published);
  }
  const std::string& name = ranks_[static_cast<std::size_t>(from.rank)].name;
  if (it.kind == Life::kLastWord) lose(Error{it.code, "rank", fmt::format("{}: {}", name, it.text)});
  if (it.kind == Life::kEnd) lose(Error{ErrorCode::kUnavailable, "rank", fmt::format("{} ends: {}", name, it.text)});
}

// A moment in which this thread itself had no processor is nobody's silence.
void MpiLife::look_for_the_silent(Clock::time_point before) {
  const Clock::time_point now = Clock::now();
  const Clock::duration missed = std::max<Clock::duration>(now - before - 2 * kBetweenBeats, Clock::duration::zero());
  const auto limit = rank_ == 0 ? kSilence : kSilenceOfLeader;
  std::optional<Error> silent;
  {
    const std::scoped_lock lock(mutex_);
    for (Watched& it : watched_) {
      it.heard += missed;
      if (now - it.heard < limit || silent) continue;
      silent = make_error(ErrorCode::kUnavailable, "rank", "{} has been silent for {} s",
                          ranks_[static_cast<std::size_t>(it.rank)].name, limit.count());
    }
  }
  if (silent) lose(*silent);
}

}  // namespace millrace::comm

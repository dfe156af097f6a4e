#include "comm/transports/mpi.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "base/buffer.h"
#include "base/byte_archive.h"
#include "base/check.h"
#include "base/worker_team.h"
#include "comm/transports/mpi_hello.h"
#include "comm/transports/mpi_life.h"
#include "comm/transports/mpi_mail.h"

namespace millrace::comm {
namespace {

using MpiClock = std::chrono::steady_clock;

constexpr int kMpiLooks = 4000;  // of a rank that waits, before it sleeps
constexpr int kLooksWithoutClock = 64, kLooksForReady = 100;
// How long it sleeps, the longer the longer it has waited: the first command after a pause is late by so much.
constexpr std::chrono::microseconds nap_after(std::chrono::nanoseconds waited) {
  using namespace std::chrono_literals;
  return waited < 100ms ? 50us : waited < 10s ? 1000us : 5000us;
}
constexpr std::size_t kMaxUnderWay = std::size_t{4} << 20;  // bytes under way before send() waits

std::shared_ptr<const MpiMail::Message> copy_of(std::span<const std::byte> bytes) {
  return std::make_shared<const MpiMail::Message>(bytes.begin(), bytes.end());
}

class JoinedRank final : public MpiCommunicator {
 public:
  JoinedRank(const MpiCalls& calls, int stages, int rank, int ranks)
      : calls_(calls),
        rank_(rank),
        ranks_(ranks),
        stages_(stages),
        commands_(calls, MpiChannel::kCommands, ranks),
        answers_(calls, MpiChannel::kAnswers, ranks),
        passed_(calls, MpiChannel::kPassed, ranks),
        beats_(calls, MpiChannel::kLife, ranks),
        taken_(static_cast<std::size_t>(ranks)) {}

  // Tells the others who this rank is, over the leader.
  Result<void> meet(Timeout timeout) {
    ByteWriter own;
    own(own_hello(stages_));
    std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(ranks_));
    all[static_cast<std::size_t>(rank_)] = own.take();
    for (int other = 1; rank_ == 0 && other < ranks_; ++other) {
      auto come = read(answers_, other, timeout);
      if (!come) return come.error();
      all[static_cast<std::size_t>(other)] = *std::move(come);
    }
    if (rank_ == 0) {
      ByteWriter told;
      told(all);
      if (auto sent = send(told.take(), timeout); !sent) return sent;
    } else {
      if (auto sent = answer(all[static_cast<std::size_t>(rank_)], timeout); !sent) return sent;
      auto told = receive(timeout);
      if (!told) return told.error();
      ByteReader reader(*told);
      reader(all);
      if (!reader.ok()) all.clear();
    }
    return know(all);
  }

  int rank() const noexcept override { return rank_; }
  int ranks() const noexcept override { return ranks_; }
  int stages() const noexcept override { return stages_; }
  std::span<std::byte> memory() noexcept override { return {memory_.data(), memory_.size()}; }
  const std::vector<Member>& members() const noexcept override { return members_; }
  std::string name_of(int rank) const override {
    const auto i = static_cast<std::size_t>(rank);
    if (i >= members_.size()) return fmt::format("rank {}", rank);
    return fmt::format("rank {} (process {} on host {})", rank, members_[i].process, members_[i].host);
  }

  Result<void> allocate(std::size_t bytes) override {
    CHECK(pending_.empty() && bytes <= static_cast<std::size_t>(INT_MAX));
    auto made = Buffer::allocate(bytes);
    if (!made) return made.error();
    memory_ = *std::move(made);
    return {};
  }

  std::uint64_t publish(const Block& block) noexcept override {
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
    if (!is_lost()) {
      const std::scoped_lock lock(mutex_);
      begin_error_ = block.ends.empty() ? calls_.barrier(&begun.request)
                                        : calls_.gather(memory_.data() + block.first, begun.bytes.data(),
                                                        begun.at.data(), block.leader_only ? 1 : 0, &begun.request);
    }
    return published_.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::uint64_t published() const noexcept override { return published_.load(std::memory_order_relaxed); }

  Result<void> await(std::uint64_t block, Timeout timeout) noexcept override {
    if (begin_error_ != 0) return fail(begin_error_);
    const auto look = [&](bool& done) {
      while (!pending_.empty() && published() - pending_.size() < block) {
        int is_done = 0;
        if (const int error = calls_.test(&pending_.front().request, &is_done)) return error;
        if (is_done == 0) return 0;
        spare_.push_back(std::move(pending_.front()));
        pending_.pop_front();
      }
      done = true;
      return 0;
    };
    return wait(timeout, look, [&] { return late(life_ ? life_->late(block) : 0, timeout); });
  }

  Result<void> send(std::span<const std::byte> command, Timeout timeout) noexcept override {
    CHECK(rank_ == 0);
    std::vector<int> others;
    for (int other = 1; other < ranks_; ++other) others.push_back(other);
    return write(commands_, others, command, timeout);
  }
  Result<std::vector<std::byte>> receive(Timeout timeout) override {
    CHECK(rank_ != 0);
    return read(commands_, 0, timeout);
  }
  Result<void> answer(std::span<const std::byte> message, Timeout timeout) noexcept override {
    CHECK(rank_ != 0);
    return write(answers_, {0}, message, timeout);
  }
  Result<std::vector<std::byte>> collect(int rank, Timeout timeout) override {
    CHECK(rank_ == 0 && rank != 0);
    std::deque<MpiMail::Message>& taken = taken_[static_cast<std::size_t>(rank)];
    const auto look = [&](bool& done) {
      const int error = take_answers();
      done = !taken.empty();
      return error;
    };
    if (auto come = wait(timeout, look, [&] { return late(rank, timeout); }); !come) return come.error();
    MpiMail::Message message = std::move(taken.front());
    taken.pop_front();
    return message;
  }
  Result<void> pass(std::span<const std::byte> message, Timeout timeout) noexcept override {
    CHECK(stage() + 1 < stages_);
    return write(passed_, {rank_ + stage_ranks()}, message, timeout);
  }
  Result<std::vector<std::byte>> take(Timeout timeout) override {
    CHECK(stage() > 0);
    return read(passed_, rank_ - stage_ranks(), timeout);
  }

  std::optional<Error> lost() const override { return life_ ? life_->lost() : std::nullopt; }
  void lose(const Error& why) override { life_->lose(why); }
  void on_lost(std::function<void(const Error&)> call) override { life_->on_lost(std::move(call)); }

  Result<void> leave(Timeout timeout) override {
    const auto gone = [this](bool& done) {
      for (MpiMail* mail : {&commands_, &answers_, &passed_}) {
        if (const int error = mail->flush()) return error;
        if (mail->under_way() > 0) return 0;
      }
      done = true;
      return 0;
    };
    if (auto sent = wait(timeout, gone, [&] { return late(0, timeout); }); !sent) return sent;
    life_.reset();
    const std::scoped_lock lock(mutex_);
    if (const int error = calls_.finish()) return error_of(error);
    return {};
  }

 private:
  struct Exchange {
    MpiHandle request;
    std::vector<int> bytes, at;  // which the library reads until it is done
  };

  Result<void> know(const std::vector<std::vector<std::byte>>& all) {
    const auto told = read_hellos(all, ranks_, stages_);
    if (!told) return told.error();
    const std::vector<MpiHello>& hellos = *told;
    for (const MpiHello& hello : hellos) members_.push_back({hello.host, hello.process});
    const MpiHello& own = hellos[static_cast<std::size_t>(rank_)];
    std::vector<MpiLife::Rank> ranks;
    for (std::size_t i = 0; i < hellos.size(); ++i) {
      const bool sees = hellos[i].boot == own.boot && hellos[i].process_namespace == own.process_namespace;
      ranks.push_back({name_of(static_cast<int>(i)), sees ? hellos[i].process : 0});
    }
    life_ = std::make_unique<MpiLife>(beats_, mutex_, published_, std::move(ranks), rank_,
                                      [this](int error) { return error_of(error); });
    return {};
  }

  bool is_lost() const noexcept { return life_ != nullptr && life_->is_lost(); }

  Error error_of(int error) {
    std::array<char, 256> text{};
    const std::scoped_lock lock(mutex_);
    if (const int failed = calls_.failed_rank(); failed >= 0) {
      return make_error(ErrorCode::kUnavailable, "rank", "{} has ended", name_of(failed));
    }
    if (error == MpiMail::kTooLong) {
      return make_error(ErrorCode::kUnavailable, "rank", "{} gets a message of more than {} bytes", name_of(rank_),
                        kMaxCommand);
    }
    calls_.describe(error, text.data(), text.size());
    return make_error(ErrorCode::kUnavailable, "rank", "MPI of {}: {}", name_of(rank_), text.data());
  }
  Error fail(int error) {
    Error made = error_of(error);
    if (life_ == nullptr) return made;
    life_->lose(made);
    return *life_->lost();
  }
  // `other`: 0 where it is not known who is late.
  Error late(int other, Timeout timeout) {
    const double seconds = std::chrono::duration<double>(timeout).count();
    Error made = make_error(ErrorCode::kUnavailable, "rank", "{} not come within {} s",
                            other != 0 ? name_of(other) + " has" : "not all ranks have", seconds);
    if (life_ == nullptr) return made;
    life_->lose(made);
    return *life_->lost();
  }

  // Until look(done) says so. It returns an error of the library, and has the library for itself.
  template <typename Look, typename Late>
  Result<void> wait(Timeout timeout, const Look& look, const Late& late) {
    SpinWait spin;
    MpiClock::time_point begin{};
    for (std::int64_t looks = 0;; ++looks) {
      if (is_lost()) return *life_->lost();
      bool done = false;
      int error = 0;
      {
        const std::scoped_lock lock(mutex_);
        error = look(done);
      }
      if (error != 0) return fail(error);
      if (done) return {};
      if (looks < kLooksWithoutClock) {
        spin.wait();
        continue;
      }
      if (rank_ == 0 &&
          life_ != nullptr) {  // a rank that waits for room for an answer may be the one that it waits for
        const std::scoped_lock lock(mutex_);
        if (error = take_answers(); error == 0) error = commands_.flush();
      }
      if (error != 0) return fail(error);
      const MpiClock::time_point now = MpiClock::now();
      if (looks == kLooksWithoutClock) begin = now;
      if (now - begin >= timeout) return late();
      if (looks < kMpiLooks) {
        spin.wait();
      } else {
        std::this_thread::sleep_for(nap_after(now - begin));
      }
    }
  }

  int take_answers() {
    for (int other = 1; other < ranks_; ++other) {
      std::optional<MpiMail::Message> message;
      if (const int error = answers_.look(other, message)) return error;
      if (message) taken_[static_cast<std::size_t>(other)].push_back(*std::move(message));
    }
    return 0;
  }

  Result<void> write(MpiMail& mail, const std::vector<int>& to, std::span<const std::byte> message, Timeout timeout) {
    if (message.size() > kMaxCommand) {
      return make_error(ErrorCode::kInternal, "", "rank {} has a message of {} bytes: at most {} are possible", rank_,
                        message.size(), kMaxCommand);
    }
    const auto has_room = [&](bool& done) {
      const int error = mail.flush();
      done = mail.under_way() <= kMaxUnderWay;
      return error;
    };
    const auto too_late = [&] { return late(life_ ? life_->late(published() + 1) : 0, timeout); };
    if (auto room = wait(timeout, has_room, too_late); !room) return room;
    const auto copy = copy_of(message);
    int error = 0;
    {
      const std::scoped_lock lock(mutex_);
      for (std::size_t i = 0; i < to.size() && error == 0; ++i) error = mail.send(to[i], copy);
      // Long messages go when the other one has said that it is ready, and the library looks: it may not be called
      // soon.
      for (int look = 0; look < kLooksForReady && error == 0 && mail.under_way() > 0; ++look) error = mail.flush();
    }
    return error == 0 ? Result<void>() : fail(error);
  }

  Result<std::vector<std::byte>> read(MpiMail& mail, int from, Timeout timeout) {
    std::optional<std::vector<std::byte>> message;
    const auto look = [&](bool& done) {
      const int error = mail.look(from, message);
      done = message.has_value();
      return error;
    };
    if (auto come = wait(timeout, look, [&] { return late(from, timeout); }); !come) return come.error();
    return *std::move(message);
  }

  const MpiCalls& calls_;
  const int rank_, ranks_, stages_;
  std::mutex mutex_;  // held while the library is called
  MpiMail commands_, answers_, passed_, beats_;
  std::vector<std::deque<MpiMail::Message>> taken_;  // answers, by rank
  std::vector<Member> members_;
  Buffer memory_;
  std::atomic<std::uint64_t> published_{0};
  std::deque<Exchange> pending_;  // the last of those published
  std::vector<Exchange> spare_;
  int begin_error_ = 0;
  std::unique_ptr<MpiLife> life_;
};

}  // namespace

Result<std::shared_ptr<MpiCommunicator>> join_mpi(const MpiCalls& calls, int stages, Communicator::Timeout timeout) {
  int rank = 0, ranks = 1;
  if (const int error = calls.start(stages, &rank, &ranks)) {
    std::array<char, 256> text{};
    calls.describe(error, text.data(), text.size());
    return make_error(ErrorCode::kUnsupported, "distributed-executor-backend", "{} cannot be used: {}", calls.library(),
                      text.data());
  }
  if (ranks % stages != 0) {
    return make_error(ErrorCode::kInvalidArgument, "pipeline-parallel-size",
                      "{} processes were started, which are not {} stages of equally many", ranks, stages);
  }
  auto made = std::make_shared<JoinedRank>(calls, stages, rank, ranks);
  if (auto met = made->meet(timeout); !met) return met.error();
  return std::shared_ptr<MpiCommunicator>(std::move(made));
}

}  // namespace millrace::comm

#include "engine/turn_arbiter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace millrace::engine {
namespace {

using std::chrono::milliseconds;

// Time that all threads may move, and that stands still otherwise.
class SharedClock final : public Env {
 public:
  TimePoint now() const override { return TimePoint(milliseconds(ms_.load())); }
  void advance(std::int64_t ms) { ms_ += ms; }
  std::int64_t ms() const { return ms_; }
  std::uint64_t random_seed() override { return 1; }
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string&) override { return Error{}; }
  std::vector<std::string> list(const std::string&) override { return {}; }

 private:
  std::atomic<std::int64_t> ms_ = 1000;
};

class TurnArbiterTest : public testing::Test {
 protected:
  struct Share {
    std::int64_t turns = 0;
    double milliseconds = 0.0;
  };
  // Takes turns of `step_ms` until the clock says `end_ms`. A turn lasts until the other busy members want theirs: they
  // need no time between two of them.
  Share busy(TurnArbiter::Member& member, std::int64_t step_ms, std::int64_t end_ms) {
    ++busy_;
    ++started_;
    while (started_ < expected_) std::this_thread::yield();
    while (clock_.ms() < end_ms) {
      member.begin();
      EXPECT_EQ(inside_++, 0);
      while (turn_.waiting() < busy_ - 1) std::this_thread::yield();
      clock_.advance(step_ms);
      --inside_;
      member.end();
    }
    clock_.advance(10);  // nobody is patient with who has finished
    --busy_;
    return {member.turns(), member.milliseconds()};
  }
  std::vector<Share> all_busy(const std::vector<std::int64_t>& steps, std::int64_t end_ms) {
    expected_ = static_cast<int>(steps.size());
    std::vector<Share> shares(steps.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      threads.emplace_back([&, i] {
        TurnArbiter::Member member(turn_);
        shares[i] = busy(member, steps[i], end_ms);
      });
    }
    for (std::thread& thread : threads) thread.join();
    return shares;
  }

  SharedClock clock_;
  TurnArbiter turn_{clock_};
  std::atomic<int> started_ = 0, busy_ = 0, inside_ = 0;
  int expected_ = 1;
};

TEST_F(TurnArbiterTest, GivesTwoBusyMembersEveryOtherTurn) {
  const auto shares = all_busy({5, 5}, 5000);
  EXPECT_NEAR(static_cast<double>(shares[0].turns), static_cast<double>(shares[1].turns), 2.0);
}

TEST_F(TurnArbiterTest, SharesTimeAndNotTurnsWhereOneTakesLonger) {
  const auto shares = all_busy({1, 10}, 6000);
  EXPECT_NEAR(shares[0].milliseconds, shares[1].milliseconds, 60.0);
  EXPECT_GT(shares[0].turns, 8 * shares[1].turns);
}

TEST_F(TurnArbiterTest, DividesAmongThree) {
  const auto shares = all_busy({2, 3, 7}, 9000);
  for (const Share& share : shares) EXPECT_NEAR(share.milliseconds, 8000.0 / 3.0, 100.0);
}

TEST_F(TurnArbiterTest, LetsAMemberAloneGoAtOnce) {
  TurnArbiter::Member idle(turn_), member(turn_);
  busy(member, 3, 4000);
  EXPECT_EQ(member.turns(), 1000);
  EXPECT_EQ(idle.turns(), 0);
}

// Whoever comes back has no claim on the time it did not use.
TEST_F(TurnArbiterTest, SavesNothingUpForWhoWasIdle) {
  TurnArbiter::Member late(turn_), steady(turn_);
  late.begin();
  clock_.advance(1);
  late.end();
  clock_.advance(10);  // past all patience
  busy(steady, 5, 5000);
  expected_ = 2;
  started_ = 0;
  const double before = steady.milliseconds();
  std::thread other([&] { busy(steady, 5, 6000); });
  busy(late, 5, 6000);
  other.join();
  EXPECT_NEAR(steady.milliseconds() - before, 500.0, 60.0);
}

TEST_F(TurnArbiterTest, WaitsNoLongerThanItsPatienceForWhoIsOwedTime) {
  TurnArbiter::Member gone(turn_), member(turn_);
  gone.begin();
  gone.end();  // took no time, and may go first again
  member.begin();
  clock_.advance(5);
  member.end();
  std::atomic<bool> went = false;
  gone.begin();
  gone.end();
  std::thread waiting([&] {
    member.begin();
    went = true;
    member.end();
  });
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(went);
  clock_.advance(3);
  waiting.join();
  EXPECT_TRUE(went);
}

}  // namespace
}  // namespace millrace::engine

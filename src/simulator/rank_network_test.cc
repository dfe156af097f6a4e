// Messages between ranks in one thread: each fault does what it says, and waiting takes virtual time.

#include "simulator/rank_network.h"

#include <gtest/gtest.h>

#include <map>

namespace millrace::simulator {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;
using Of = RankFaults::Of;

Bytes message(int value) { return {static_cast<std::byte>(value)}; }

// Faults that happen when they are asked for the Nth time.
class Scripted final : public RankFaults {
 public:
  void plan(RankFault fault, Of of, int nth) { planned_[{fault, of}] = nth; }
  bool happens(RankFault fault, Of of) override {
    const auto at = planned_.find({fault, of});
    return at != planned_.end() && --at->second == 0;
  }
  std::int64_t pick(std::int64_t low, std::int64_t) override { return low; }

 private:
  std::map<std::pair<RankFault, Of>, int> planned_;
};

// Two stages of two ranks. A rank that follows a command answers it; one of the second stage adds what the first passes
// on, and all of a stage meet before.
class RankNetworkTest : public ::testing::Test {
 protected:
  RankNetworkTest() {
    for (int rank = 0; rank < 4; ++rank) ends_.push_back(network_.communicator(rank));
  }
  comm::Communicator& end(int rank) { return *ends_[static_cast<std::size_t>(rank)]; }
  void follow(int rank) {
    comm::Communicator& own = end(rank);
    Bytes command = own.receive(1s).or_throw();
    meet(own);
    if (own.stage() > 0) command.push_back(own.take(1h).or_throw().at(0));
    if (own.stage() == 0) own.pass(command, 1s).or_throw();
    own.answer(command, 1s).or_throw();
  }
  static void meet(comm::Communicator& own) {
    own.memory()[static_cast<std::size_t>(own.place())] = std::byte{7};
    own.await(own.publish({}), 1s).or_throw();
    EXPECT_EQ(own.memory()[static_cast<std::size_t>(1 - own.place())], std::byte{7}) << "published before";
  }
  // What rank 0 does of a step; the answers of the others, or why there is none.
  std::string step(int value) {
    try {
      end(0).send(message(value), 1s).or_throw();
      meet(end(0));
      end(0).pass(message(value), 1s).or_throw();
      std::string all;
      for (int rank = 1; rank < 4; ++rank) {
        for (const std::byte byte : end(0).collect(rank, 5s).or_throw()) all += std::to_string(static_cast<int>(byte));
        all += ' ';
      }
      return all;
    } catch (const LoadError& failure) {
      return failure.what();
    }
  }

  MemoryEnv env_;
  Scripted faults_;
  RankNetwork network_{{.stage_ranks = 2, .stages = 2, .memory = 2}, env_, faults_, [this](int rank) { follow(rank); }};
  std::vector<std::unique_ptr<comm::Communicator>> ends_;
};

TEST_F(RankNetworkTest, RanksFollowWhileOthersWaitForThem) {
  EXPECT_EQ(step(1), "1 11 11 ");
  EXPECT_EQ(step(2), "2 22 22 ");
  EXPECT_EQ(env_.time, TimePoint{}) << "nothing was waited for";
  EXPECT_FALSE(network_.disturbed());
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(network_.history(rank), network_.history(0));
}

TEST_F(RankNetworkTest, ALostCommandIsWaitedForInVain) {
  faults_.plan(RankFault::kLost, Of::kCommand, 1);
  EXPECT_EQ(step(1), "rank 1 has not come");
  EXPECT_EQ(env_.time, TimePoint{} + 1s);
  EXPECT_TRUE(network_.tampered());
  EXPECT_NE(network_.history(1), network_.history(0));
}

TEST_F(RankNetworkTest, LateCommandsTakeTime) {
  faults_.plan(RankFault::kLate, Of::kCommand, 2);
  EXPECT_EQ(step(1), "1 11 11 ");
  EXPECT_EQ(env_.time, TimePoint{} + 1ms);
  EXPECT_FALSE(network_.tampered());
}

TEST_F(RankNetworkTest, DoubledAndDamagedCommandsChangeHistories) {
  faults_.plan(RankFault::kDoubled, Of::kCommand, 1);
  step(1);
  EXPECT_TRUE(network_.tampered());
  network_.restart();
  EXPECT_FALSE(network_.disturbed());
  faults_.plan(RankFault::kDamaged, Of::kCommand, 1);
  EXPECT_EQ(step(2), "3 22 23 ") << "a bit of it";
  EXPECT_NE(network_.history(1), network_.history(0));
  EXPECT_EQ(network_.history(2), network_.history(0));
}

TEST_F(RankNetworkTest, DoubledAndLostMessagesMoveThoseBehindThem) {
  faults_.plan(RankFault::kDoubled, Of::kAnswer, 1);
  EXPECT_EQ(step(1), "1 11 11 ");
  EXPECT_EQ(step(2), "1 22 22 ");
  network_.restart();
  faults_.plan(RankFault::kDoubled, Of::kRows, 1);
  EXPECT_EQ(step(1), "1 11 11 ");
  EXPECT_EQ(step(2), "2 22 21 ");
  network_.restart();
  faults_.plan(RankFault::kLost, Of::kAnswer, 1);
  EXPECT_EQ(step(1), "rank 1 has not come");
}

TEST_F(RankNetworkTest, ARankThatHasDiedIsNamed) {
  faults_.plan(RankFault::kDied, Of::kRank, 3);
  EXPECT_EQ(step(1), "rank 1 has ended");
  EXPECT_FALSE(network_.all_live());
  network_.restart();
  EXPECT_TRUE(network_.all_live());
  EXPECT_EQ(step(2), "2 22 22 ");
}

TEST_F(RankNetworkTest, WorkComesBetweenTheCommands) {
  std::string order;
  network_.in_order(1, [&] { order += "at once "; });
  end(0).send(message(5), 1s).or_throw();
  network_.in_order(1, [&] { order += network_.history(1) == network_.history(0) ? "behind it" : "too early"; });
  EXPECT_EQ(order, "at once ");
  meet(end(0));
  network_.drain();
  EXPECT_EQ(order, "at once behind it");
}

}  // namespace
}  // namespace millrace::simulator

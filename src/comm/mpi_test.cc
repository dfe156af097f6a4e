// Ranks over MPI. The program is a rank of a job that mpirun has started (tests/http/test_tensor_parallel_mpi.py);
// alone it skips these tests. A process joins once, so all tests of a run share the group, and those that lose it come
// last.

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "comm/transports/join_mpi.h"
#include "comm/transports/load_mpi.h"

namespace millrace::comm {
namespace {

constexpr std::chrono::seconds kMpiLong{60};
constexpr std::size_t kMemory = std::size_t{1} << 20;

bool is_job() { return std::getenv("MILLRACE_TEST_MPI") != nullptr; }

MpiRanks& job() {
  static const auto* const joined = new auto(join_mpi(*load_mpi().or_throw(), 1, kMpiLong).or_throw());
  return **joined;
}

class LeavesJob : public testing::Environment {
  void TearDown() override {
    if (!is_job() || job().lost()) return;
    EXPECT_TRUE(job().leave(kMpiLong));
  }
};
const auto* const leaves_job = testing::AddGlobalTestEnvironment(new LeavesJob);

class Mpi : public testing::Test {
  void SetUp() override {
    if (!is_job()) GTEST_SKIP() << "mpirun has not started this";
  }
};

std::byte value(std::uint64_t round, int rank, std::size_t at) {
  return static_cast<std::byte>(round * 7 + static_cast<std::uint64_t>(rank) * 31 + at * 3);
}

// Parts of all lengths, none included; every third time only for the leader.
void exchange_blocks(MpiGroup& group, std::uint64_t rounds) {
  const auto own = static_cast<std::size_t>(group.rank());
  for (std::uint64_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    std::vector<std::size_t> ends;
    for (int rank = 0; rank < group.ranks(); ++rank) {
      ends.push_back((ends.empty() ? 0 : ends.back()) + (round * 131 + static_cast<std::size_t>(rank) * 977) % 20000);
    }
    const std::size_t first = round % 2 * kMemory / 2;
    const auto begin = [&](std::size_t rank) { return rank == 0 ? 0 : ends[rank - 1]; };
    std::byte* const block = group.memory().data() + first;
    for (std::size_t at = begin(own); at < ends[own]; ++at) block[at] = value(round, group.rank(), at);
    const bool leader_only = round % 3 == 0;
    ASSERT_TRUE(group.await(group.publish({.first = first, .ends = ends, .leader_only = leader_only}), kMpiLong));
    for (int rank = 0; rank < group.ranks() && (!leader_only || group.rank() == 0); ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      for (std::size_t at = begin(r); at < ends[r]; ++at) ASSERT_EQ(block[at], value(round, rank, at)) << round;
    }
    if (round % 10 == 0) {
      ASSERT_TRUE(group.await(group.publish(), kMpiLong));
    }
  }
}

TEST_F(Mpi, RanksSeeWhatOthersPublished) {
  job().group(1).allocate(kMemory).or_throw();
  exchange_blocks(job().group(1), 300);
}

std::vector<std::byte> message(std::size_t i) {
  const std::size_t sizes[] = {0, 1, 7, 4000, 70000, std::size_t{3} << 20};
  std::vector<std::byte> bytes(sizes[i % std::size(sizes)]);
  for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 31 + i);
  return bytes;
}

void exchange_messages(MpiGroup& group) {
  constexpr std::size_t kMessages = 60;
  for (std::size_t i = 0; i < kMessages; ++i) {
    if (group.rank() == 0) {
      ASSERT_TRUE(group.send(message(i), kMpiLong));
      continue;
    }
    if (group.rank() == 2 && i % 20 == 3) usleep(20000);
    auto received = group.receive(kMpiLong);
    ASSERT_TRUE(received);
    ASSERT_EQ(*received, message(i)) << i;
    ASSERT_TRUE(group.answer(message(i + static_cast<std::size_t>(group.rank())), kMpiLong));
  }
  for (int rank = 1; group.rank() == 0 && rank < group.ranks(); ++rank) {
    for (std::size_t i = 0; i < kMessages; ++i) {
      auto collected = group.collect(rank, kMpiLong);
      ASSERT_TRUE(collected);
      ASSERT_EQ(*collected, message(i + static_cast<std::size_t>(rank))) << i;
    }
  }
}

TEST_F(Mpi, CommandsAndAnswersArriveWholeAndInOrder) { exchange_messages(job().group(1)); }

// Each group at its own pace.
TEST_F(Mpi, GroupsDoNotMeet) {
  std::vector<std::jthread> threads;
  for (int number = 2; number < 5; ++number) {
    threads.emplace_back([number] {
      MpiGroup& group = job().group(number);
      group.allocate(kMemory).or_throw();
      if (number % 2 == 0) exchange_messages(group);
      exchange_blocks(group, 60);
      exchange_messages(group);
    });
  }
}

// What nobody took is not what the next one to use the group gets.
TEST_F(Mpi, AGroupThatIsClearedIsAsNew) {
  MpiGroup &group = job().group(5), &control = job().group(0);
  for (int round = 0; round < 3; ++round) {
    group.allocate(kMemory).or_throw();
    exchange_blocks(group, 5);
    const auto say = [&] {  // rank 0 to the others
      if (job().rank() == 0) return control.send({}, kMpiLong).or_throw();
      control.receive(kMpiLong).or_throw();
    };
    const auto answer = [&] {
      if (job().rank() != 0) return control.answer({}, kMpiLong).or_throw();
      for (int rank = 1; rank < job().ranks(); ++rank) control.collect(rank, kMpiLong).or_throw();
    };
    if (job().rank() == 0) {
      for (std::size_t i = 0; i < 5; ++i) ASSERT_TRUE(group.send(message(i), kMpiLong));
      say();
    } else {
      std::thread answers([&] {  // more than is taken
        for (std::size_t i = 0;; ++i) {
          const auto sent = group.answer(message(i), kMpiLong);
          if (sent) continue;
          EXPECT_EQ(sent.error().code, ErrorCode::kCancelled);
          return;
        }
      });
      ASSERT_EQ(*group.receive(kMpiLong), message(0));
      say();
      group.cancel();
      for (std::size_t i = 1; i < 5 - static_cast<std::size_t>(round); ++i) {
        ASSERT_EQ(*group.receive(kMpiLong), message(i));  // they came before
      }
      if (round == 0) {
        EXPECT_EQ(group.receive(kMpiLong).error().code, ErrorCode::kCancelled);
      }
      answers.join();
    }
    answer();
    say();
    ASSERT_TRUE(group.clear(kMpiLong));
    answer();
    EXPECT_TRUE(group.memory().empty());
    EXPECT_EQ(group.published(), 0u);
  }
  exchange_messages(group);
}

TEST_F(Mpi, RanksThatSleepGoOn) {
  for (int i = 0; i < 3; ++i) {
    if (job().rank() == 0) usleep(150000);  // the others sleep by now
    ASSERT_TRUE(job().group(0).await(job().group(0).publish(), kMpiLong));
  }
}

TEST_F(Mpi, RanksKnowEachOther) {
  ASSERT_EQ(std::ssize(job().members()), job().ranks());
  const MpiRanks::Member& own = job().members()[static_cast<std::size_t>(job().rank())];
  EXPECT_EQ(own.process, getpid());
  EXPECT_EQ(job().name_of(job().rank()),
            fmt::format("rank {} (process {} on host {})", job().rank(), getpid(), own.host));
}

}  // namespace
}  // namespace millrace::comm

// Groups of processes that share memory: what each sees of the others, and what it learns when one is gone.

#include <sys/mman.h>

#include <cstring>
#include <numeric>
#include <string>

#include "comm/testing/forked_ranks.h"
#include "comm/transports/self.h"
#include "comm/transports/shm_layout.h"

namespace millrace::comm {
namespace {

constexpr std::chrono::seconds kLong{60};

std::span<std::uint64_t> numbers(Communicator& group) {
  return {reinterpret_cast<std::uint64_t*>(group.memory().data()), group.memory().size() / 8};
}

// Each rank writes its own slice, awaits those of others, and reads them, before any may be written again.
void exchange(Communicator& group, std::uint64_t rounds) {
  constexpr std::size_t kEach = 64;
  const std::span<std::uint64_t> all = numbers(group);
  const auto value = [](std::uint64_t round, std::uint64_t rank) { return round * 1000 + rank; };
  for (std::uint64_t round = 0; round < rounds && !testing::Test::HasFailure(); ++round) {
    for (std::size_t i = 0; i < kEach; ++i) {
      all[static_cast<std::size_t>(group.rank()) * kEach + i] = value(round, static_cast<std::uint64_t>(group.rank()));
    }
    ASSERT_TRUE(group.await(group.publish(), kLong));
    for (std::size_t i = 0; i < kEach * static_cast<std::size_t>(group.ranks()); ++i) {
      ASSERT_EQ(all[i], value(round, i / kEach)) << round;
    }
    ASSERT_TRUE(group.await(group.publish(), kLong));
  }
}

TEST(Shm, RanksSeeWhatOthersPublished) {
  for (const int ranks : {2, 3, 5}) {
    ForkedRanks group({.stage_ranks = ranks, .memory = 1 << 16, .commands = 4096},
                      [](Communicator& own) { exchange(own, 300); });
    exchange(group.leader(), 300);
    group.expect_success();
  }
}

TEST(Shm, RanksThatSleepGoOn) {
  ForkedRanks group({.stage_ranks = 2, .memory = 4096, .commands = 4096}, [](Communicator& own) {
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(own.await(own.publish(), kLong));
  });
  for (int i = 0; i < 5; ++i) {
    usleep(50000);  // the other one sleeps by now
    EXPECT_TRUE(group.leader().await(group.leader().publish(), kLong));
  }
  group.expect_success();
}

// Of lengths around that of the ring, and of none.
TEST(Shm, CommandsArriveWholeAndInOrder) {
  constexpr std::size_t kRing = 1000;
  const auto command = [](std::size_t i) {
    const std::size_t sizes[] = {0, 1, 7, 500, kRing - 8, kRing - 1, kRing, kRing + 1, 3 * kRing + 5};
    std::vector<std::byte> bytes(sizes[i % std::size(sizes)]);
    for (std::size_t at = 0; at < bytes.size(); ++at) bytes[at] = static_cast<std::byte>(at * 31 + i);
    return bytes;
  };
  constexpr std::size_t kCommands = 200;
  ForkedRanks group({.stage_ranks = 3, .memory = 0, .commands = kRing}, [&](Communicator& own) {
    for (std::size_t i = 0; i < kCommands; ++i) {
      if (own.rank() == 2 && i % 50 == 3) usleep(20000);
      auto received = own.receive(kLong);
      ASSERT_TRUE(received);
      ASSERT_EQ(*received, command(i)) << i;
    }
  });
  for (std::size_t i = 0; i < kCommands; ++i) ASSERT_TRUE(group.leader().send(command(i), kLong));
  group.expect_success();
}

std::vector<std::byte> message(int rank, std::size_t i, std::size_t ring) {
  const std::size_t sizes[] = {0, 1, 7, ring / 2, ring - 8, ring - 1, ring, ring + 1, 3 * ring + 5};
  std::vector<std::byte> bytes(sizes[i % std::size(sizes)]);
  for (std::size_t at = 0; at < bytes.size(); ++at)
    bytes[at] = static_cast<std::byte>(at * 31 + i * 7) ^ std::byte(rank);
  return bytes;
}

TEST(Shm, AnswersArriveInOrderFromEachRank) {
  constexpr std::size_t kRing = 500, kAnswers = 90;
  ForkedRanks group({.stage_ranks = 3, .answers = kRing}, [&](Communicator& own) {
    for (std::size_t i = 0; i < kAnswers; ++i) ASSERT_TRUE(own.answer(message(own.rank(), i, kRing), kLong));
  });
  for (std::size_t i = 0; i < kAnswers; ++i) {
    for (const int rank : {2, 1}) {
      const auto answer = group.leader().collect(rank, kLong);
      ASSERT_TRUE(answer);
      ASSERT_EQ(*answer, message(rank, i, kRing)) << rank << " " << i;
    }
  }
  group.expect_success();
}

// Two stages of two ranks: what is passed on arrives in order, at the same place of the next stage, and a leader that
// has more to pass on than there is room for takes the answers that keep the others from reading.
TEST(Shm, StagesPassOnWhileTheirAnswersWait) {
  constexpr std::size_t kRing = 500, kMessages = 60;
  const auto first = [](Communicator& own) {
    for (std::size_t i = 0; i < kMessages; ++i) ASSERT_TRUE(own.pass(message(own.rank(), i, kRing), kLong));
  };
  ForkedRanks group({.stage_ranks = 2, .stages = 2, .memory = 4096, .answers = kRing, .passed = kRing},
                    [&](Communicator& own) {
                      ASSERT_EQ(own.stage(), own.rank() / 2);
                      ASSERT_EQ(own.place(), own.rank() % 2);
                      if (own.stage() == 0) return first(own);
                      for (std::size_t i = 0; i < kMessages; ++i) {
                        const auto taken = own.take(kLong);
                        ASSERT_TRUE(taken);
                        ASSERT_EQ(*taken, message(own.place(), i, kRing)) << i;
                        ASSERT_TRUE(own.answer(message(own.rank(), i, kRing), kLong));
                      }
                    });
  first(group.leader());
  for (const int rank : {2, 3}) {
    for (std::size_t i = 0; i < kMessages; ++i) {
      const auto answer = group.leader().collect(rank, kLong);
      ASSERT_TRUE(answer);
      ASSERT_EQ(*answer, message(rank, i, kRing)) << rank << " " << i;
    }
  }
  group.expect_success();
}

// Exchanges are of the ranks of a stage alone.
TEST(Shm, StagesHaveMemoryOfTheirOwn) {
  const auto body = [](Communicator& own) {
    auto* number = reinterpret_cast<std::atomic<std::uint64_t>*>(own.memory().data());
    for (std::uint64_t i = 1; i <= 200; ++i) {
      number->fetch_add(static_cast<std::uint64_t>(own.stage()) + 1);
      ASSERT_TRUE(own.await(own.publish(), kLong));
      ASSERT_EQ(number->load(), 2 * i * (static_cast<std::uint64_t>(own.stage()) + 1));
      ASSERT_TRUE(own.await(own.publish(), kLong));
      if (own.stage() == 1 && i % 50 == 0) usleep(5000);
    }
  };
  ForkedRanks group({.stage_ranks = 2, .stages = 2, .memory = 4096}, body);
  body(group.leader());
  group.expect_success();
}

TEST(Shm, ARankThatWasKilledIsNamedByAll) {
  ForkedRanks group({.stage_ranks = 3, .memory = 4096, .commands = 4096}, [](Communicator& own) {
    if (own.rank() == 1) raise(SIGKILL);
    const auto failed = own.await(own.publish(), kLong);
    ASSERT_FALSE(failed);
    EXPECT_TRUE(failed.error().message.starts_with("rank 1 (process ")) << failed.error().message;
    EXPECT_TRUE(failed.error().message.ends_with(") has ended")) << failed.error().message;
  });
  const auto failed = group.leader().await(group.leader().publish(), kLong);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(failed.error().message, fmt::format("rank 1 (process {}) has ended", group.process(1)));
  EXPECT_EQ(group.wait(1), SIGKILL);
  EXPECT_EQ(group.wait(2), 0);
}

// What a rank did before it ended counts, however late the others look.
TEST(Shm, WhatARankDidBeforeItEndedCounts) {
  ForkedRanks group({.stage_ranks = 2, .memory = 4096, .commands = 4096}, [](Communicator& own) { own.publish(); });
  EXPECT_EQ(group.wait(1), 0);
  EXPECT_TRUE(group.leader().await(group.leader().publish(), kLong));
  EXPECT_FALSE(group.leader().await(group.leader().publish(), kLong));
}

TEST(Shm, ARankThatStoppedIsNamedWhenTheTimeoutIsOver) {
  ForkedRanks group({.stage_ranks = 2, .memory = 4096, .commands = 4096}, [](Communicator& own) {
    raise(SIGSTOP);
    own.publish();
  });
  const auto failed = group.leader().await(group.leader().publish(), std::chrono::milliseconds(100));
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, fmt::format("rank 1 (process {}) has not come within 0.1 s", group.process(1)));
}

TEST(Shm, ARankThatASignalStoppedIsNamedLongBeforeTheTimeout) {
  ForkedRanks group({.stage_ranks = 2, .memory = 4096}, [](Communicator& own) {
    raise(SIGSTOP);
    own.publish();
  });
  const auto failed = group.leader().await(group.leader().publish(), kLong);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, fmt::format("rank 1 (process {}) has been stopped by a signal", group.process(1)));
}

TEST(Shm, ARankThatWasStoppedItselfBlamesNoOther) {
  ForkedRanks group({.stage_ranks = 2, .memory = 4096},
                    [](Communicator& own) { EXPECT_TRUE(own.await(own.publish(), std::chrono::seconds(2))); });
  usleep(100'000);  // it waits by now
  kill(group.process(1), SIGSTOP);
  usleep(2'200'000);
  kill(group.process(1), SIGCONT);
  usleep(100'000);
  group.leader().publish();
  group.expect_success();
}

TEST(Shm, SendingEndsWithARankThatReadsNothing) {
  ForkedRanks group({.stage_ranks = 2, .memory = 0, .commands = 100}, [](Communicator&) { pause(); });
  const std::vector<std::byte> command(60);
  EXPECT_TRUE(group.leader().send(command, kLong));
  const auto late = group.leader().send(command, std::chrono::milliseconds(50));
  ASSERT_FALSE(late);
  EXPECT_TRUE(late.error().message.ends_with("has not come within 0.05 s")) << late.error().message;
  kill(group.process(1), SIGKILL);
  const auto ended = group.leader().send(command, kLong);
  ASSERT_FALSE(ended);
  EXPECT_TRUE(ended.error().message.ends_with("has ended")) << ended.error().message;
}

TEST(Shm, ARankThatNeverJoinsIsNamed) {
  const ShmSegment segment = ShmSegment::make({.stage_ranks = 2}).or_throw();
  const auto alone = join_shm(segment.descriptor(), 0, std::chrono::milliseconds(50));
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().message, "rank 1 has not joined within 0.05 s");
  const auto again = join_shm(segment.descriptor(), 0, std::chrono::milliseconds(50));
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().message, fmt::format("rank 0 is process {} already", getpid()));
  const auto unknown = join_shm(segment.descriptor(), 2, kLong);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "rank is 2: must be from 0 to 1");
}

// A process that has ended, and that no other one is called like meanwhile.
pid_t ended_process() {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitid(P_PID, static_cast<id_t>(child), nullptr, WEXITED | WNOWAIT);
  return child;
}

TEST(Shm, ARankThatEndsBeforeItJoinsIsNamedAtOnce) {
  const ShmSegment segment = ShmSegment::make({.stage_ranks = 2}).or_throw();
  const pid_t other = ended_process();
  const auto joined = join_shm(segment.descriptor(), 0, kLong, std::span(&other, 1));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().message, "rank 1 has ended before it joined");
  waitpid(other, nullptr, 0);
}

TEST(Shm, ALeaderThatEndsBeforeItJoinsIsNamedAtOnce) {
  const ShmSegment segment = ShmSegment::make({.stage_ranks = 3}).or_throw();
  const pid_t leader = ended_process();
  const auto process = static_cast<std::uint32_t>(leader);
  ASSERT_EQ(pwrite(segment.descriptor(), &process, sizeof(process), offsetof(ShmHeader, leader)), 4);
  const auto joined = join_shm(segment.descriptor(), 1, kLong);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().message, "rank 0 has ended before it joined");
  waitpid(leader, nullptr, 0);
}

TEST(Shm, WhatIsNoSegmentIsRefused) {
  const auto refused = [](const std::string& contents) {
    const int file = memfd_create("test", 0);
    EXPECT_EQ(write(file, contents.data(), contents.size()), static_cast<ssize_t>(contents.size()));
    const auto joined = join_shm(file, 0, std::chrono::milliseconds(10));
    close(file);
    return !joined && joined.error().code == ErrorCode::kBadFile;
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused(std::string(1 << 20, 'x')));
  const auto bytes = [](const ShmHeader& header, std::size_t size) {
    std::string text(size, '\0');
    std::memcpy(text.data(), &header, std::min(size, sizeof(header)));
    return text;
  };
  const ShmHeader good{.magic = ShmHeader::kMagic,
                       .ranks = 1,
                       .rank_bytes = sizeof(ShmRank),
                       .stages = 1,
                       .leader = static_cast<std::uint32_t>(getpid()),
                       .command_bytes = 64,
                       .answer_bytes = 64,
                       .pass_bytes = 0,
                       .memory_bytes = 4096};
  EXPECT_FALSE(refused(bytes(good, good.bytes())));
  EXPECT_TRUE(refused(bytes(good, good.bytes() - 1))) << "cut off";
  const auto changed = [&](auto change) {
    ShmHeader header = good;
    change(header);
    return refused(bytes(header, 1 << 20));
  };
  EXPECT_TRUE(changed([](ShmHeader& h) { ++h.magic; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.ranks = 0; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.ranks = 5000; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.stages = 0; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.stages = 2; })) << "one rank cannot be two stages";
  EXPECT_TRUE(changed([](ShmHeader& h) { h.answer_bytes = 0; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.pass_bytes = ~std::uint64_t{0}; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.rank_bytes = 64; })) << "of another build";
  EXPECT_TRUE(changed([](ShmHeader& h) { h.command_bytes = 0; }));
  EXPECT_TRUE(changed([](ShmHeader& h) { h.memory_bytes = ~std::uint64_t{0}; })) << "sums overflow";
  EXPECT_TRUE(changed([](ShmHeader& h) { h.command_bytes = std::uint64_t{1} << 40; }));
}

TEST(Self, NeverWaits) {
  const auto group = join_self(100);
  EXPECT_EQ(group->ranks(), 1);
  ASSERT_GE(group->memory().size(), 100u);
  EXPECT_EQ(group->publish(), 1u);
  EXPECT_TRUE(group->await(group->publish(), std::chrono::seconds(0)));
  EXPECT_TRUE(group->send({}, std::chrono::seconds(0)));
}

}  // namespace
}  // namespace millrace::comm

#include "base/worker_team.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <vector>

namespace millrace {
namespace {

TEST(WorkerTeam, RunsEveryWorkerOnceACall) {
  WorkerTeam team(3);
  std::vector<int> calls(3, 0);
  for (int i = 0; i < 2000; ++i) team.run([&](int worker) { ++calls[static_cast<std::size_t>(worker)]; });
  EXPECT_EQ(calls, std::vector<int>(3, 2000));
}

TEST(WorkerTeam, SplitCoversEveryItemOnceWhateverTheSizes) {
  for (const int workers : {1, 2, 3, 5}) {
    WorkerTeam team(workers);
    for (const std::int64_t items : {0, 1, 15, 16, 17, 100, 1000}) {
      std::vector<int> hits(static_cast<std::size_t>(items), 0);
      team.split(items, 16, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_EQ(begin % 16, 0);
        for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(std::accumulate(hits.begin(), hits.end(), 0), items);
      EXPECT_TRUE(std::all_of(hits.begin(), hits.end(), [](int h) { return h == 1; }));
    }
  }
}

TEST(WorkerTeam, WakesAfterItWentToSleep) {
  WorkerTeam team(2);
  int calls = 0;
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    team.run([&](int worker) {
      if (worker == 1) ++calls;
    });
  }
  EXPECT_EQ(calls, 5);
}

// Work that one worker does not come back from until it is let go.
struct Held final : TeamWork {
  std::atomic<bool> inside{false}, let_go{false};
  std::atomic<int> helpers{0};
  int held_worker = -1;
  void work(int worker) noexcept override {
    if (worker == 0) {
      if (held_worker < 0) return;
      for (SpinWait spin; !inside.load();) spin.wait();
      return;
    }
    ++helpers;
    if (worker != held_worker) return;
    inside = true;
    for (SpinWait spin; !let_go.load();) spin.wait();
  }
};

TEST(WorkerTeam, AnOfferDoesNotWaitForAWorkerThatIsHeldUp) {
  WorkerTeam team(3);
  Held held, next;
  held.held_worker = 2;
  team.offer(held);
  EXPECT_FALSE(held.idle());
  for (int i = 0; i < 1000 && next.helpers == 0; ++i) team.offer(next);
  held.let_go = true;
  for (SpinWait spin; !held.idle();) spin.wait();
  int calls = 0;
  team.run([&](int worker) {
    if (worker == 2) ++calls;
  });
  EXPECT_EQ(calls, 1);
}

TEST(WorkerTeam, RunsOnceAWorkerBetweenOffers) {
  WorkerTeam team(3);
  Held nothing;
  std::vector<int> calls(3, 0);
  for (int i = 0; i < 2000; ++i) {
    team.offer(nothing);
    team.run([&](int worker) { ++calls[static_cast<std::size_t>(worker)]; });
  }
  EXPECT_EQ(calls, std::vector<int>(3, 2000));
}

}  // namespace
}  // namespace millrace

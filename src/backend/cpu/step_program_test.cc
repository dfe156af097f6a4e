#include "backend/cpu/step_program.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace millrace::backend::cpu {
namespace {

TEST(StepProgram, APhaseSeesAllOfTheOneBefore) {
  for (const int workers : {1, 2, 3, 8}) {  // also more than there are processors
    WorkerTeam team(workers);
    StepProgram program(workers);
    for (const std::int64_t items : {1, 2, 7, 64, 1000}) {
      std::vector<std::int64_t> values(static_cast<std::size_t>(items), 0), sums(values.size());
      auto *value = values.data(), *sum = sums.data();
      constexpr int kPhases = 50;
      for (int phase = 0; phase < kPhases; ++phase) {
        program.add_split(items, 4, [=](std::int64_t begin, std::int64_t end, int) {
          for (std::int64_t i = begin; i < end; ++i) sum[i] = std::accumulate(value, value + items, std::int64_t{0});
        });
        program.add_tasks(items, [=](std::int64_t i, int) { ++value[i]; });
      }
      team.offer(program);
      EXPECT_EQ(values, std::vector<std::int64_t>(values.size(), kPhases)) << workers << " workers, " << items;
      EXPECT_EQ(sums, std::vector<std::int64_t>(values.size(), (kPhases - 1) * items));
      for (SpinWait spin; !program.idle();) spin.wait();
      program.clear();
    }
  }
}

TEST(StepProgram, GivesOutPiecesOfTheGrainAndEveryItemOnce) {
  WorkerTeam team(3);
  StepProgram program(3);
  for (const std::int64_t items : {5, 32, 33, 999}) {
    std::vector<int> hits(static_cast<std::size_t>(items), 0);
    std::atomic<int> crooked{0};
    int* hit = hits.data();
    program.add_split(items, 4, [=, &crooked](std::int64_t begin, std::int64_t end, int) {
      if (begin % 4 != 0 || (end % 4 != 0 && end != items)) ++crooked;
      for (std::int64_t i = begin; i < end; ++i) ++hit[i];
    });
    team.offer(program);
    EXPECT_EQ(hits, std::vector<int>(hits.size(), 1));
    EXPECT_EQ(crooked, 0);
    for (SpinWait spin; !program.idle();) spin.wait();
    program.clear();
  }
}

TEST(StepProgram, RecordsNothingForNoItems) {
  StepProgram program(2);
  program.add_split(0, 1, [](std::int64_t, std::int64_t, int) { FAIL(); });
  EXPECT_TRUE(program.empty());
}

}  // namespace
}  // namespace millrace::backend::cpu

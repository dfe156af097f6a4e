#include "engine/idle_tasks.h"

#include <gtest/gtest.h>

#include <chrono>

#include "engine/testing/engine_fixture.h"

namespace millrace::engine {
namespace {

TimePoint at(double seconds) {
  return TimePoint{} + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

class IdleTasksTest : public EngineTest {
 protected:
  IdleTask counted(double after, double period, int more = 0) {
    return {.after_seconds = after,
            .period_seconds = period,
            .run = [this, more, left = more](Engine&, double idle) mutable {
              ++runs_;
              idle_ = idle;
              if (left-- > 0) return true;
              left = more;
              return false;
            }};
  }
  std::unique_ptr<Engine> engine_ = make();
  int runs_ = 0;
  double idle_ = 0.0;
};

TEST_F(IdleTasksTest, OneRunsAfterItsTimeAndThenByItsPeriod) {
  IdleTasks tasks({counted(10.0, 600.0)}, at(0.0));
  EXPECT_FALSE(tasks.run_one(*engine_, at(9.9)));
  EXPECT_EQ(tasks.next(), at(10.0));
  EXPECT_TRUE(tasks.run_one(*engine_, at(10.0)));
  EXPECT_DOUBLE_EQ(idle_, 10.0);
  EXPECT_FALSE(tasks.run_one(*engine_, at(11.0)));
  EXPECT_EQ(tasks.next(), at(610.0));
  tasks.busy(at(605.0));  // a request: the period has passed then, but the time of idleness has not
  EXPECT_FALSE(tasks.run_one(*engine_, at(612.0)));
  EXPECT_TRUE(tasks.run_one(*engine_, at(615.0)));
  EXPECT_EQ(runs_, 2);
}

TEST_F(IdleTasksTest, OneWithoutAPeriodRunsOnceInEachTimeOfIdleness) {
  IdleTasks tasks({counted(5.0, 0.0)}, at(0.0));
  EXPECT_TRUE(tasks.run_one(*engine_, at(5.0)));
  EXPECT_FALSE(tasks.run_one(*engine_, at(1000.0)));
  EXPECT_FALSE(tasks.next());
  tasks.busy(at(2000.0));
  EXPECT_EQ(tasks.next(), at(2005.0));
  EXPECT_TRUE(tasks.run_one(*engine_, at(2005.0)));
  EXPECT_EQ(runs_, 2);
}

TEST_F(IdleTasksTest, OneWithMoreToDoIsCalledAgainBeforeItsPeriod) {
  IdleTasks tasks({counted(5.0, 60.0, 2)}, at(0.0));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(tasks.run_one(*engine_, at(5.0 + i)));
  EXPECT_FALSE(tasks.run_one(*engine_, at(9.0)));
  EXPECT_EQ(runs_, 3);
}

}  // namespace
}  // namespace millrace::engine

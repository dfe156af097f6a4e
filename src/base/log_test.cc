#include "base/log.h"

#include <gtest/gtest.h>

namespace millrace::log {
namespace {

class Log : public testing::Test {
 protected:
  Log() {
    set_level(Level::kInfo);
    testing::internal::CaptureStderr();
  }
  ~Log() override {
    set_sink({});
    set_colour(false);
    set_level(before_);
  }
  static std::string written() { return testing::internal::GetCapturedStderr(); }

 private:
  const Level before_ = level();
};

TEST_F(Log, WritesToStandardErrorWithTheLevelInFront) {
  debug("not {}", "this");
  info("{} tokens", 3);
  warn("late");
  set_level(Level::kError);
  warn("not this either");
  error("lost");
  EXPECT_EQ(written(), "info 3 tokens\nwarning late\nerror lost\n");
}

TEST_F(Log, ColoursTheLevelAlone) {
  set_colour(true);
  warn("late");
  EXPECT_EQ(written(), "\x1b[33mwarning\x1b[0m late\n");
}

TEST_F(Log, GivesLinesToASinkAndAsksItToWriteThem) {
  std::string lines;
  flush();  // nobody there: nothing happens
  set_sink([&](Level level, std::string_view line) { lines += label(level, false) + ":" + std::string(line) + ";"; },
           [&] { lines += "flushed"; });
  info("one");
  error("two");
  flush();
  EXPECT_EQ(lines, "info:one;error:two;flushed");
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace millrace::log

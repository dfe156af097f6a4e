#include "loadtest/launched_server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "loadtest/watch/process_reading.h"

namespace millrace::loadtest {
namespace {

using Words = std::vector<std::string>;

TEST(SplitCommand, AsAShellWould) {
  const auto split = [](std::string_view text) { return split_command("spawn-command", text).or_throw(); };
  EXPECT_EQ(split(""), Words{});
  EXPECT_EQ(split("  a  b\tc "), (Words{"a", "b", "c"}));
  EXPECT_EQ(split(R"(a 'b c' "d \" e" f\ g '')"), (Words{"a", "b c", "d \" e", "f g", ""}));
  EXPECT_EQ(split(R"('a\b'"c"d)"), (Words{"a\\bcd"}));
}

TEST(SplitCommand, AnOpenQuoteIsToldByItsFlag) {
  const auto words = split_command("spawn-command", "a 'b");
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().param, "spawn-command");
}

std::string failure(std::vector<std::string> argv, double seconds) {
  const std::string log = testing::TempDir() + "spawned_server_" + std::to_string(::getpid()) + ".log";
  std::string told;
  try {
    LaunchedServer server({.argv = std::move(argv), .log = log, .ready_seconds = seconds});
  } catch (const LoadError& error) {
    told = error.what();
  }
  std::filesystem::remove(log);
  return told;
}

TEST(LaunchedServer, OneThatEndsShowsItsLastWords) {
  const std::string told = failure({"sh", "-c", "echo no such model {port} >&2; exit 3"}, 30.0);
  EXPECT_NE(told.find("ended before"), std::string::npos) << told;
  EXPECT_NE(told.find("no such model"), std::string::npos) << told;
  EXPECT_EQ(told.find("{port}"), std::string::npos) << told;
}

TEST(LaunchedServer, OneThatCannotBeStartedOrDoesNotAnswer) {
  EXPECT_NE(failure({"/no/such/program"}, 30.0).find("cannot be started"), std::string::npos);
  EXPECT_NE(failure({"sleep", "60"}, 0.2).find("not ready"), std::string::npos);
}

TEST(ProcessReading, OurselvesAndNobody) {
  const ProcessReading us = read_processes(family_of(::getpid()));
  EXPECT_GT(us.resident_bytes, 1 << 20);
  EXPECT_GE(us.resident_peak_bytes, us.resident_bytes / 2);
  ASSERT_FALSE(us.pids.empty());
  EXPECT_EQ(us.pids.front(), ::getpid());
  EXPECT_TRUE(family_of(0).empty());
  EXPECT_TRUE(read_processes({1 << 30}).pids.empty());
  EXPECT_EQ(find_listener("192.0.2.1", 80), 0);
}

}  // namespace
}  // namespace millrace::loadtest

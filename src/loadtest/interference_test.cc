#include "loadtest/interference.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>

namespace millrace::loadtest {
namespace {

TEST(MachineReading, ReadsWhatLinuxWrites) {
  const auto ticks = parse_cpu_ticks("cpu  100 5 20 800 10 1 4 60 7 0\ncpu0 1 2 3 4 5 6 7 8 9 0\n");
  ASSERT_TRUE(ticks);
  EXPECT_EQ(ticks->all, 1000);
  EXPECT_EQ(ticks->steal, 60);
  EXPECT_EQ(ticks->busy, 130);
  EXPECT_EQ(parse_process_ticks("42 (a) b) (c) R 1 2 3 4 5 6 7 8 9 10 300 40 5 6 20 0 3"), 340);
  EXPECT_DOUBLE_EQ(*parse_load_average("1.25 0.90 0.50 2/300 999\n"), 1.25);
  EXPECT_DOUBLE_EQ(*parse_throttled_s("usage_usec 10\nnr_throttled 3\nthrottled_usec 2500000\n"), 2.5);
  EXPECT_EQ(parse_cpuinfo_mhz("processor : 0\ncpu MHz\t\t: 2400.5\n\nprocessor : 1\ncpu MHz\t\t: 3000\n"),
            (std::vector<double>{2400.5, 3000.0}));
}

TEST(MachineReading, WhatIsSomethingElseIsNotKnown) {
  for (const char* text :
       {"", "\n", "cpu", "cpu 1 2 3", "cpu a b c d", "intr 1 2 3 4", "no numbers at all) ", "1 (a) R 1"}) {
    EXPECT_FALSE(parse_cpu_ticks(text)) << text;
    EXPECT_FALSE(parse_process_ticks(text)) << text;
    EXPECT_FALSE(parse_throttled_s(text)) << text;
    EXPECT_TRUE(parse_cpuinfo_mhz(text).empty()) << text;
  }
  EXPECT_FALSE(parse_load_average("x"));
  const MachineReading nothing = read_machine({}, [](const std::string&) { return std::string(); });
  EXPECT_FALSE(nothing.ticks);
  EXPECT_FALSE(nothing.throttled_s);
}

TEST(MachineReading, FindsTheControlGroupAndTheProcessorsFrequencies) {
  const std::map<std::string, std::string> files = {
      {"/proc/self/cgroup", "0::/user/bench\n"},
      {"/sys/fs/cgroup/user/bench/cpu.stat", "throttled_usec 500000\n"},
      {"/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", "2000000\n"},
      {"/sys/devices/system/cpu/cpu1/cpufreq/scaling_cur_freq", "3000000\n"},
      {"/proc/7/stat", "7 (server) S 1 2 3 4 5 6 7 8 9 10 30 4 5"}};
  const std::vector<std::int64_t> processes = {7, 8};
  const MachineReading reading = read_machine(processes, [&](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? std::string() : file->second;
  });
  EXPECT_DOUBLE_EQ(*reading.throttled_s, 0.5);
  EXPECT_EQ(reading.frequency_mhz, (std::vector<double>{2000.0, 3000.0}));
  EXPECT_EQ(reading.processes, (std::map<std::int64_t, std::int64_t>{{7, 34}}));
}

MachineReading reading(std::int64_t all, std::int64_t busy, std::int64_t steal,
                       std::map<std::int64_t, std::int64_t> ours) {
  MachineReading reading;
  reading.ticks = MachineReading::Ticks{all, busy, steal};
  reading.processes = std::move(ours);
  reading.throttled_s = 0.0;
  return reading;
}

TEST(Interference, WhatTheMeasuredProcessesTakeIsNone) {
  const std::vector<MachineReading> readings = {reading(0, 0, 0, {{1, 100}, {2, 0}}),
                                                reading(500, 450, 0, {{1, 300}, {2, 240}}),
                                                reading(1000, 900, 5, {{1, 500}, {2, 490}})};
  const Interference noise = noise_of(readings);
  EXPECT_NEAR(*noise.other_cpu_percent, 1.0, 1e-9);
  EXPECT_NEAR(*noise.steal_percent, 0.5, 1e-9);
  EXPECT_FALSE(noise.noisy);
  EXPECT_STREQ(noise.verdict(), "quiet");
}

TEST(Interference, OthersStealingAndStoppedThreadsAreSaidInSentences) {
  std::vector<MachineReading> readings = {reading(0, 0, 0, {{1, 0}}), reading(1000, 700, 30, {{1, 600}})};
  readings[1].throttled_s = 1.5;
  Interference noise = noise_of(readings);
  EXPECT_TRUE(noise.noisy);
  ASSERT_EQ(noise.reasons.size(), 3u);
  EXPECT_EQ(noise.reasons[0], "The hypervisor gave 3.0 % of the processors' time to others (limit 2 %).");
  EXPECT_EQ(noise.reasons[1], "Other processes took 10.0 % of the processors' time (limit 5 %).");
  noise.read_gb_s_before = 40.0;
  noise.read_gb_s_after = 30.0;
  judge(noise);
  EXPECT_EQ(noise.reasons.size(), 4u);
}

TEST(Interference, AProcessThatEndsCountsForWhatWasSeenOfIt) {
  const std::vector<MachineReading> readings = {reading(0, 0, 0, {{1, 0}}), reading(500, 400, 0, {{1, 400}}),
                                                reading(1000, 400, 0, {})};
  EXPECT_NEAR(*noise_of(readings).other_cpu_percent, 0.0, 1e-9);
}

TEST(Interference, NothingKnownIsAbsentAndQuiet) {
  const Interference noise = noise_of({});
  EXPECT_FALSE(noise.steal_percent);
  EXPECT_FALSE(noise.load_average);
  EXPECT_FALSE(noise.noisy);
}

TEST(InterferenceWatch, ReadsAtItsBeginningAndItsEnd) {
  int readings = 0;
  InterferenceWatch watch({}, [&](const std::string& path) {
    if (path != "/proc/stat") return std::string();
    ++readings;
    return "cpu " + std::to_string(readings * 100) + " 0 0 " + std::to_string(readings * 100) + " 0 0 0 0\n";
  });
  const Interference noise = watch.stop();
  EXPECT_GE(readings, 2);
  EXPECT_NEAR(*noise.other_cpu_percent, 50.0, 1e-9);
}

}  // namespace
}  // namespace millrace::loadtest

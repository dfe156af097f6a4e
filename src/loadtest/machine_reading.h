#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::loadtest {

// Linux's counters of the machine at one moment. Those that the kernel or container does not provide are absent. Times
// are in ticks of sysconf(_SC_CLK_TCK).
struct MachineReading {
  struct Ticks {
    std::int64_t all = 0;    // of all processors, idle time included
    std::int64_t busy = 0;   // of this machine's work: neither idle, nor waiting for disks, nor stolen
    std::int64_t steal = 0;  // in which the hypervisor ran another machine
  };
  std::optional<Ticks> ticks;
  // Process id -> ticks of all its threads; only of those that could be read.
  std::map<std::int64_t, std::int64_t> processes;
  std::optional<double> load_average;  // over the last minute
  std::optional<double> throttled_s;   // for which the control group stopped this process's threads
  std::vector<double> frequency_mhz;   // of each processor
};

// Reads a file of /proc or /sys; empty if it cannot be read.
using ReadText = std::function<std::string(const std::string& path)>;
std::string read_system_text(const std::string& path);

MachineReading read_machine(std::span<const std::int64_t> processes, const ReadText& read = read_system_text);

// Parse texts of the kernel (proc(5), cpu.stat of cgroup v2, cpufreq); nothing for other texts.
std::optional<MachineReading::Ticks> parse_cpu_ticks(std::string_view proc_stat);
std::optional<std::int64_t> parse_process_ticks(std::string_view proc_pid_stat);
std::optional<double> parse_load_average(std::string_view proc_loadavg);
std::optional<double> parse_throttled_s(std::string_view cpu_stat);
std::vector<double> parse_cpuinfo_mhz(std::string_view proc_cpuinfo);

}  // namespace millrace::loadtest

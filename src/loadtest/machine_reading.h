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

// Counters that Linux keeps of the machine, at one moment; what a kernel, container or other system does not say is
// absent. Times are in ticks of sysconf(_SC_CLK_TCK).
struct MachineReading {
  struct Ticks {
    std::int64_t all = 0;    // of all processors, idle too
    std::int64_t busy = 0;   // of this machine's own work: neither idle, waiting for disks, nor stolen
    std::int64_t steal = 0;  // the hypervisor ran another machine
  };
  std::optional<Ticks> ticks;
  std::map<std::int64_t, std::int64_t> processes;  // process id -> its ticks, all threads; those that could be read
  std::optional<double> load_average;              // of the last minute
  std::optional<double> throttled_s;               // for which the control group stopped this process's threads
  std::vector<double> frequency_mhz;               // of each processor
};

// Reads a file of /proc or /sys; empty where it cannot.
using ReadText = std::function<std::string(const std::string& path)>;
std::string read_system_text(const std::string& path);

MachineReading read_machine(std::span<const std::int64_t> processes, const ReadText& read = read_system_text);

// The texts that the kernel writes (proc(5), cgroup v2's cpu.stat, cpufreq); nothing where they are something else.
std::optional<MachineReading::Ticks> parse_cpu_ticks(std::string_view proc_stat);
std::optional<std::int64_t> parse_process_ticks(std::string_view proc_pid_stat);
std::optional<double> parse_load_average(std::string_view proc_loadavg);
std::optional<double> parse_throttled_s(std::string_view cpu_stat);
std::vector<double> parse_cpuinfo_mhz(std::string_view proc_cpuinfo);

}  // namespace millrace::loadtest

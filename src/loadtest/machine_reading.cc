#include "loadtest/machine_reading.h"

#include <array>
#include <fstream>
#include <iterator>
#include <sstream>

namespace millrace::loadtest {
namespace {

constexpr int kMaxProcessors = 4096;

// The number at the beginning of the text.
template <typename T>
std::optional<T> number(const std::string& text) {
  std::istringstream in(text);
  T value{};
  if (!(in >> value)) return std::nullopt;
  return value;
}

// Where this process's control group says how long it was stopped (cgroup v2): in a container its own tree is the root.
std::string cgroup_stat_path(const std::string& proc_self_cgroup) {
  std::istringstream lines(proc_self_cgroup);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("0::/"))
      return "/sys/fs/cgroup" + (line == "0::/" ? std::string() : line.substr(3)) + "/cpu.stat";
  }
  return "";
}

std::vector<double> read_frequencies(const ReadText& read) {
  std::vector<double> mhz;
  for (int cpu = 0; cpu < kMaxProcessors; ++cpu) {
    const auto khz =
        number<double>(read("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpufreq/scaling_cur_freq"));
    if (!khz) break;
    mhz.push_back(*khz / 1000);
  }
  return mhz.empty() ? parse_cpuinfo_mhz(read("/proc/cpuinfo")) : mhz;
}

}  // namespace

std::string read_system_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::optional<MachineReading::Ticks> parse_cpu_ticks(std::string_view proc_stat) {
  std::istringstream in{std::string(proc_stat.substr(0, proc_stat.find('\n')))};
  std::string name;
  // user nice system idle iowait irq softirq steal; guests' time is in user and nice already.
  std::array<std::int64_t, 8> fields{};
  if (!(in >> name) || name != "cpu") return std::nullopt;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!(in >> fields[i]) && i < 4) return std::nullopt;  // old kernels stop after `idle`
  }
  MachineReading::Ticks ticks;
  for (const std::int64_t field : fields) ticks.all += field;
  ticks.steal = fields[7];
  ticks.busy = ticks.all - fields[3] - fields[4] - fields[7];
  return ticks;
}

std::optional<std::int64_t> parse_process_ticks(std::string_view proc_pid_stat) {
  // The name is in parentheses and may hold any character; behind it field 3 is the state, 14 and 15 the ticks.
  const std::size_t name_end = proc_pid_stat.rfind(") ");
  if (name_end == std::string_view::npos) return std::nullopt;
  std::istringstream in{std::string(proc_pid_stat.substr(name_end + 2))};
  std::string skipped;
  for (int field = 3; field < 14; ++field) in >> skipped;
  std::int64_t user = 0, system = 0;
  if (!(in >> user >> system)) return std::nullopt;
  return user + system;
}

std::optional<double> parse_load_average(std::string_view proc_loadavg) {
  return number<double>(std::string(proc_loadavg));
}

std::optional<double> parse_throttled_s(std::string_view cpu_stat) {
  std::istringstream in{std::string(cpu_stat)};
  std::string name;
  for (std::int64_t value = 0; in >> name >> value;) {
    if (name == "throttled_usec") return static_cast<double>(value) / 1e6;
  }
  return std::nullopt;
}

std::vector<double> parse_cpuinfo_mhz(std::string_view proc_cpuinfo) {
  std::vector<double> mhz;
  std::istringstream lines{std::string(proc_cpuinfo)};
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(':');
    if (!line.starts_with("cpu MHz") || colon == std::string::npos) continue;
    if (const auto value = number<double>(line.substr(colon + 1))) mhz.push_back(*value);
  }
  return mhz;
}

MachineReading read_machine(std::span<const std::int64_t> processes, const ReadText& read) {
  MachineReading reading;
  reading.ticks = parse_cpu_ticks(read("/proc/stat"));
  for (const std::int64_t process : processes) {
    const auto ticks = parse_process_ticks(read("/proc/" + std::to_string(process) + "/stat"));
    if (ticks) reading.processes[process] = *ticks;
  }
  reading.load_average = parse_load_average(read("/proc/loadavg"));
  const std::string cgroup = cgroup_stat_path(read("/proc/self/cgroup"));
  if (!cgroup.empty()) reading.throttled_s = parse_throttled_s(read(cgroup));
  reading.frequency_mhz = read_frequencies(read);
  return reading;
}

}  // namespace millrace::loadtest

#include "server/observe/process_usage.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace millrace::server::observe {
namespace {

// Fields of proc(5)'s stat behind the name, counted from 3: the state.
constexpr int kFirstField = 3, kThreads = 20, kStartTicks = 22, kResidentPages = 24;

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double seconds_of(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

ProcessUsage process_usage() {
  ProcessUsage usage;
  rusage times{};
  if (getrusage(RUSAGE_SELF, &times) == 0) usage.cpu_seconds = seconds(times.ru_utime) + seconds(times.ru_stime);
  std::ifstream file("/proc/self/stat");
  const std::string stat{std::istreambuf_iterator<char>(file), {}};
  // The name is in parentheses and may hold any character.
  const std::size_t name_end = stat.rfind(") ");
  if (name_end != std::string::npos) {
    std::istringstream fields(stat.substr(name_end + 2));
    std::string field;
    for (int i = kFirstField; i <= kResidentPages && fields >> field; ++i) {
      if (i == kThreads) usage.threads = std::atoll(field.c_str());
      if (i == kResidentPages) usage.resident_bytes = std::atoll(field.c_str()) * sysconf(_SC_PAGESIZE);
      if (i == kStartTicks) {
        const double since_boot = std::atof(field.c_str()) / static_cast<double>(sysconf(_SC_CLK_TCK));
        usage.start_unix_seconds = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME) + since_boot;
      }
    }
  }
  std::error_code failure;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failure), end; !failure && entry != end;
       entry.increment(failure)) {
    ++usage.open_fds;
  }
  if (usage.open_fds > 0) --usage.open_fds;  // the one this listing was read through
  return usage;
}

}  // namespace millrace::server::observe

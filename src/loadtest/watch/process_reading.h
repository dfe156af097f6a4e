#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::loadtest {

// What some processes take together, by /proc; those that are gone or not ours to read count for nothing.
struct ProcessReading {
  std::int64_t resident_bytes = 0;       // sum; shared pages count for each
  std::int64_t resident_peak_bytes = 0;  // sum of each one's own peak since it began
  double cpu_seconds = 0.0;
  std::vector<pid_t> pids;  // of those that are there
};
ProcessReading read_processes(const std::vector<pid_t>& pids);

// A process and all its descendants. Looks at every process of the machine: not for each reading.
std::vector<pid_t> family_of(pid_t root);

// The process of this machine that listens on a TCP port of an address that `host` reaches; 0 where there is none, it
// is another machine's, or its files are not ours to read.
pid_t find_listener(const std::string& host, int port);

}  // namespace millrace::loadtest

#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::loadtest {

// Resources of several processes together, from /proc; processes that have ended or are not readable are left out.
struct ProcessReading {
  std::int64_t resident_bytes = 0;       // sum; shared pages count for each process
  std::int64_t resident_peak_bytes = 0;  // sum of each process's peak since its start
  double cpu_seconds = 0.0;
  std::vector<pid_t> pids;  // of the processes that exist
};
ProcessReading read_processes(const std::vector<pid_t>& pids);

// A process and all its descendants. Reads all processes of the machine, so it is not for every reading.
std::vector<pid_t> family_of(pid_t root);

// The process on this machine that listens on a TCP port of an address that `host` reaches; 0 if there is none, or its
// files are not readable.
pid_t find_listener(const std::string& host, int port);

}  // namespace millrace::loadtest

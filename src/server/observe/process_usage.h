#pragma once

#include <cstdint>

namespace millrace::server::observe {

// Resources that this process uses; 0 where the system does not tell. process_usage() reads files of /proc. Any thread.
struct ProcessUsage {
  double cpu_seconds = 0.0, start_unix_seconds = 0.0;
  std::int64_t resident_bytes = 0, open_fds = 0, threads = 0;
};
ProcessUsage process_usage();

}  // namespace millrace::server::observe

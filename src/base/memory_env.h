#pragma once

#include <map>
#include <memory>
#include <string>

#include "base/env.h"

namespace millrace {

// Files that live in memory, for tests and fuzzing: nothing touches the disk, time stands still unless moved, and the
// Nth read can be made to fail. One thread.
class MemoryEnv final : public Env {
 public:
  TimePoint time{};
  std::uint64_t seed = 1;
  std::map<std::string, std::string> files;
  // The read with this number, counted from 0 over all files, fails as a disk would (kBadFile, "I/O error"); -1 = none.
  std::int64_t fail_read = -1;
  std::int64_t reads = 0;

  TimePoint now() const override { return time; }
  std::uint64_t random_seed() override { return seed; }
  // The file borrows from `files`, which must not change while it is open.
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
};

}  // namespace millrace

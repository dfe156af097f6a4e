#pragma once

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/env.h"

namespace millrace {

// An Env in memory, for tests and fuzzing. Time stands still unless `time` is changed; the Nth read or write can be
// made to fail, the disk to be full, and the power to fail. One thread.
class MemoryEnv final : public Env {
 public:
  TimePoint time{};
  std::uint64_t seed = 1;
  std::map<std::string, std::string> files;
  // The number of the read that fails with kBadFile, "I/O error", counted from 0 over all files; -1 = none.
  std::int64_t fail_read = -1;
  std::int64_t reads = 0;

  // The number of the write that fails when half of it is done; -1 = none. Creating, syncing, renaming and removing
  // files count as writes too.
  std::int64_t fail_write = -1;
  bool dead = false;  // every write fails, as after the process was killed
  std::int64_t writes = 0;
  // Size of the disk, for all files together.
  std::uint64_t disk_bytes = std::numeric_limits<std::uint64_t>::max();

  // Simulates a power failure: of bytes that were not synced, only the first `kept` of each file remain. All locks are
  // released.
  void crash(std::uint64_t kept = 0);

  TimePoint now() const override { return time; }
  std::uint64_t random_seed() override { return seed; }
  // The file refers to `files`: it must not be removed while it is open.
  Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) override;
  std::vector<std::string> list(const std::string& directory) override;
  Result<void> create_directories(const std::string&) override { return {}; }
  Result<std::unique_ptr<WritableFile>> create(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<std::unique_ptr<HeldLock>> lock(const std::string& path) override;

 private:
  friend class MemoryWritableFile;
  friend class MemoryLock;
  Result<void> write_fails(const std::string& path);  // the fault that is due, if any
  Result<void> append(const std::string& path, std::span<const std::byte> bytes);

  std::map<std::string, std::uint64_t> synced_;  // bytes of files that were created here
  std::set<std::string> locked_;
};

}  // namespace millrace

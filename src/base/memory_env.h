#pragma once

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/env.h"

namespace millrace {

// Files that live in memory, for tests and fuzzing: nothing touches the disk, time stands still unless moved, the Nth
// read or write can be made to fail, the disk to be full, and the power to be cut. One thread.
class MemoryEnv final : public Env {
 public:
  TimePoint time{};
  std::uint64_t seed = 1;
  std::map<std::string, std::string> files;
  // The read with this number, counted from 0 over all files, fails as a disk would (kBadFile, "I/O error"); -1 = none.
  std::int64_t fail_read = -1;
  std::int64_t reads = 0;

  // The write with this number fails after half of it is done; -1 = none. Files made, synced, renamed and removed count
  // as writes too.
  std::int64_t fail_write = -1;
  bool dead = false;  // every write fails: what a killed process does no more
  std::int64_t writes = 0;
  std::uint64_t disk_bytes = std::numeric_limits<std::uint64_t>::max();  // of all files

  // The power is cut: of what was not synced, only the first `kept` bytes of each file are there. Forgets all locks.
  void crash(std::uint64_t kept = 0);

  TimePoint now() const override { return time; }
  std::uint64_t random_seed() override { return seed; }
  // The file borrows from `files`: it must not be removed while it is open.
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

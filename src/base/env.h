#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace millrace {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;

// A file opened for reading at any offset. Thread-safe. Its size is that at opening.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual std::uint64_t size() const noexcept = 0;
  // Fills all of `out` from `offset`, or fails naming the file; a file that has shrunk, or an I/O error, never yields
  // zeros.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual const std::string& path() const noexcept = 0;
  // Time of the last change at opening, in nanoseconds of the system's clock; 0 if unknown.
  virtual std::int64_t modified() const noexcept { return 0; }
};

// A new file, written from beginning to end. One thread; closed when destroyed.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  // After a failure, any part may have been written.
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  virtual Result<void> sync() = 0;  // afterwards, appended bytes survive a power failure
};

// A lock that is held until the object is destroyed or the process ends.
class HeldLock {
 public:
  virtual ~HeldLock() = default;
};

// The environment of the process: clock, random seed and files. Injectable, so that a test can fail the Nth read, or
// run a server on virtual time (law 7 of the architecture). Implementations without writing need not override it: it is
// kUnsupported.
class Env {
 public:
  virtual ~Env() = default;
  virtual TimePoint now() const = 0;
  virtual std::uint64_t random_seed() = 0;
  virtual Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) = 0;
  // The names of a directory's entries, sorted; empty if it cannot be read.
  virtual std::vector<std::string> list(const std::string& directory) = 0;

  virtual Result<void> create_directories(const std::string& path);
  // Makes an empty file, and replaces an existing one. kResourceExhausted, here and in append(), if the disk is full.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path);
  // Atomic; replaces an existing file.
  virtual Result<void> rename(const std::string& from, const std::string& to);
  virtual Result<void> remove(const std::string& path);  // processes that have it open can still read it
  // kResourceExhausted if another holder, in this process or another, has the lock. On a file system without locks,
  // locking always succeeds.
  virtual Result<std::unique_ptr<HeldLock>> lock(const std::string& path);

  // The real environment.
  static Env& system();
};

// The whole file as bytes; fails if it is larger than `limit_bytes`.
Result<std::string> read_file(Env& env, const std::string& path, std::uint64_t limit_bytes);

// Milliseconds from `start` to `end`.
inline double milliseconds_between(TimePoint start, TimePoint end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

}  // namespace millrace

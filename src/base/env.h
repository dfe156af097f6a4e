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

// A file opened for reading at any offset. Thread-safe. The size is the one seen at opening.
class RandomAccessFile {
 public:
  virtual ~RandomAccessFile() = default;
  virtual std::uint64_t size() const noexcept = 0;
  // Fills all of `out` from `offset`, or fails naming the file: a file that shrank or an I/O error never yields zeros
  // as data.
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual const std::string& path() const noexcept = 0;
  // When it was last changed, in nanoseconds of the system's clock, as of opening; 0 if unknown.
  virtual std::int64_t modified() const noexcept { return 0; }
};

// A new file, written from its beginning to its end. One thread; closed when destroyed.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;  // after a failure any part may be there
  virtual Result<void> sync() = 0;                                    // what was appended survives a power cut
};

// Held until destroyed, or until the process ends, however it ends.
class HeldLock {
 public:
  virtual ~HeldLock() = default;
};

// The world outside the process, injectable so that a test can fail the Nth read or run a server on virtual time (law
// 7). An Env that writes nothing need not say so: then writing is kUnsupported.
class Env {
 public:
  virtual ~Env() = default;
  virtual TimePoint now() const = 0;
  virtual std::uint64_t random_seed() = 0;
  virtual Result<std::unique_ptr<RandomAccessFile>> open(const std::string& path) = 0;
  // The names of what lies in a directory, sorted; none if it cannot be read.
  virtual std::vector<std::string> list(const std::string& directory) = 0;

  virtual Result<void> create_directories(const std::string& path);
  // An empty file of that name, whatever was there. kResourceExhausted here and in append() where the disk is full.
  virtual Result<std::unique_ptr<WritableFile>> create(const std::string& path);
  virtual Result<void> rename(const std::string& from, const std::string& to);  // atomic, over what is there
  virtual Result<void> remove(const std::string& path);                         // who has it open may go on reading
  // kResourceExhausted when another holder, in this process or another, has it. A file system without locks is as good
  // as one that is not shared.
  virtual Result<std::unique_ptr<HeldLock>> lock(const std::string& path);

  // The real one.
  static Env& system();
};

// The whole file as bytes; fails if it is larger than `limit_bytes`.
Result<std::string> read_file(Env& env, const std::string& path, std::uint64_t limit_bytes);

// Milliseconds since `start`, as a double.
inline double milliseconds_between(TimePoint start, TimePoint end) {
  return std::chrono::duration<double, std::milli>(end - start).count();
}

}  // namespace millrace

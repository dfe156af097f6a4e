#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::hub {

// A lock by flock on a separate file, compatible with the hub's Python client. It ends with the process at the latest.
class FileLock {
 public:
  // Waits while another process holds the lock. `wait` is called repeatedly meanwhile and must take some time; if it
  // returns false, waiting ends with kCancelled. On a file system without locks, acquiring always succeeds.
  static Result<FileLock> acquire(const std::string& path, const std::function<bool()>& wait);
  // Nothing if another process holds the lock.
  static std::optional<FileLock> try_acquire(const std::string& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace millrace::hub

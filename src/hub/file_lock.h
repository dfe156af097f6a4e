#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::hub {

// flock on a file of its own, as the hub's Python client takes it: released when the process ends, however it ends.
class FileLock {
 public:
  // Waits while another process has it. `wait` is called over and over meanwhile, must take some time, and ends the
  // waiting (kCancelled) with false. A file system without locks is as good as one that is not shared.
  static Result<FileLock> acquire(const std::string& path, const std::function<bool()>& wait);
  // Nothing when another process has it.
  static std::optional<FileLock> try_acquire(const std::string& path);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&&) = delete;
  ~FileLock();

 private:
  explicit FileLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace millrace::hub

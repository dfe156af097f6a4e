#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace millrace {

// A file that only appears under its name when complete: bytes are written to PATH.tmp, which commit() renames. Without
// commit() the destructor removes it. One thread; a second writer of the same path, in this process or another, is an
// error (kInvalidArgument).
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  std::uint64_t position() const noexcept { return position_; }
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write_zeros(std::uint64_t count);
  // Renames the file to its name. `durable`: waits until it survives a power failure.
  Result<void> commit(bool durable = true);

 private:
  OutputFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Error failure(const char* what) const;

  int fd_;
  std::string path_;
  std::uint64_t position_ = 0;
};

}  // namespace millrace

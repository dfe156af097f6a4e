#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace millrace {

// A file that appears under its name only when it is whole: bytes go to PATH.tmp; commit() renames it.
// Destroyed before that, it removes the temporary file. One thread; a second writer of the same path, in this process
// or another, is refused (kInvalidArgument).
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  std::uint64_t position() const noexcept { return position_; }
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write_zeros(std::uint64_t count);
  // `durable`: it survives a power cut, at the price of waiting for the disk.
  Result<void> commit(bool durable = true);

 private:
  OutputFile(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Error failure(const char* what) const;

  int fd_;
  std::string path_;
  std::uint64_t position_ = 0;
};

}  // namespace millrace

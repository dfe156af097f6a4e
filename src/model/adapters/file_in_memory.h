#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>

#include "base/env.h"

namespace millrace::model {

inline constexpr std::uint64_t kMaxAdapterBytes = std::uint64_t{8} << 30;  // of a file of an adapter

// A file's content in memory. All threads.
class FileInMemory final : public RandomAccessFile {
 public:
  FileInMemory(std::string path, std::string bytes) : path_(std::move(path)), bytes_(std::move(bytes)) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override;
  const std::string& path() const noexcept override { return path_; }

 private:
  std::string path_, bytes_;
};

}  // namespace millrace::model

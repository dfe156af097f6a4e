#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace millrace::hub {

// A file that grows while it is downloaded and is renamed when complete. Existing content is kept, to be continued. One
// user at a time, who holds the lock. Injectable, so that a test can fill the disk.
class PartialFile {
 public:
  virtual ~PartialFile() = default;
  virtual std::uint64_t size() const = 0;
  // kResourceExhausted if the disk, a quota or a limit is full.
  virtual Result<void> append(std::span<const std::byte> bytes) = 0;
  virtual Result<void> read(std::uint64_t offset, std::span<std::byte> out) const = 0;
  virtual Result<void> truncate() = 0;
  // Syncs the content, renames the file to `path`, and syncs the folder.
  virtual Result<void> commit(const std::string& path) = 0;
  virtual void remove() = 0;
};

using OpenPartialFile = std::function<Result<std::unique_ptr<PartialFile>>(const std::string& path)>;
Result<std::unique_ptr<PartialFile>> open_partial_file(const std::string& path);

// The bytes that the user may still write on the file system of `path`.
Result<std::uint64_t> free_bytes(const std::string& path);

}  // namespace millrace::hub

#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/env.h"

namespace millrace::checkpoint {

static_assert(std::endian::native == std::endian::little,
              "both file formats are little-endian and are read as they lie");

// Reads a file's header, or another part of the file, front to back through a buffer and never past its end. A value
// that would not fit is a LoadError naming file and field, before anything is allocated for it. One thread; the file
// must outlive it.
class BoundedReader {
 public:
  // Reads the beginning of the file, at most `limit_bytes` bytes.
  BoundedReader(const RandomAccessFile& file, std::uint64_t limit_bytes);
  // Reads `bytes` bytes at `offset`. The caller must have checked that they lie inside the file.
  BoundedReader(const RandomAccessFile& file, std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return end_ - position_; }
  const std::string& path() const noexcept { return file_.path(); }

  // Reads out.size() bytes. `field` names them in messages.
  void read(std::span<std::byte> out, std::string_view field);

  template <typename T>
    requires std::is_arithmetic_v<T>
  T number(std::string_view field) {
    T value;
    if (buffered() >= sizeof value) {
      std::copy_n(next(), sizeof value, reinterpret_cast<std::byte*>(&value));
      position_ += sizeof value;
    } else {
      read(std::as_writable_bytes(std::span(&value, 1)), field);
    }
    return value;
  }
  // Reads a u64 length and as many bytes.
  std::string string(std::string_view field);

  // Throws unless `count` items of at least `item_bytes` bytes each can still follow.
  void require(std::uint64_t count, std::uint64_t item_bytes, std::string_view field) const;

 private:
  std::size_t buffered() const noexcept { return buffer_end_ - static_cast<std::size_t>(position_ - buffer_start_); }
  const std::byte* next() const noexcept { return buffer_.data() + (position_ - buffer_start_); }
  void refill();

  const RandomAccessFile& file_;
  std::uint64_t end_;
  std::uint64_t position_ = 0;  // in the file
  std::string_view end_is_;     // what the end is of, in messages; empty = of the file
  std::vector<std::byte> buffer_;
  std::uint64_t buffer_start_ = 0;  // offset in the file of the buffer's first byte
  std::size_t buffer_end_ = 0;      // bytes of the buffer that hold data
};

}  // namespace millrace::checkpoint

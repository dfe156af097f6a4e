#include "checkpoint/bounded_reader.h"

#include "base/check.h"
#include "base/error.h"

namespace millrace::checkpoint {
namespace {
constexpr std::size_t kBufferBytes = 256 << 10;
}

BoundedReader::BoundedReader(const RandomAccessFile& file, std::uint64_t limit_bytes)
    : file_(file),
      end_(std::min(file.size(), limit_bytes)),
      end_is_(end_ < file.size() ? " of the size a header may have" : ""),
      buffer_(std::min<std::uint64_t>(kBufferBytes, end_)) {}

BoundedReader::BoundedReader(const RandomAccessFile& file, std::uint64_t offset, std::uint64_t bytes)
    : file_(file),
      end_(offset + bytes),
      position_(offset),
      end_is_(" of this part of the file"),
      buffer_(std::min<std::uint64_t>(kBufferBytes, bytes)),
      buffer_start_(offset) {
  CHECK_LE(offset, file.size());
  CHECK_LE(bytes, file.size() - offset);
}

void BoundedReader::require(std::uint64_t count, std::uint64_t item_bytes, std::string_view field) const {
  if (count <= remaining() / item_bytes) return;
  throw_load_error(ErrorCode::kBadFile, std::string(field),
                   "{}: {}: {} items of {} bytes or more expected, {} bytes left{}", path(), field, count, item_bytes,
                   remaining(), end_is_);
}

void BoundedReader::refill() {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(buffer_.size(), remaining()));
  file_.read(position_, std::span(buffer_).first(size)).or_throw();
  buffer_start_ = position_;
  buffer_end_ = size;
}

void BoundedReader::read(std::span<std::byte> out, std::string_view field) {
  require(out.size(), 1, field);
  while (!out.empty()) {
    if (buffered() == 0) refill();
    const std::size_t n = std::min(out.size(), buffered());
    std::copy_n(next(), n, out.data());
    position_ += n;
    out = out.subspan(n);
  }
}

std::string BoundedReader::string(std::string_view field) {
  const auto size = number<std::uint64_t>(field);
  require(size, 1, field);
  std::string text;
  if (size <= buffered()) {
    text.assign(reinterpret_cast<const char*>(next()), static_cast<std::size_t>(size));
    position_ += size;
  } else {
    text.resize(static_cast<std::size_t>(size));
    read(std::as_writable_bytes(std::span(text)), field);
  }
  return text;
}

}  // namespace millrace::checkpoint

#include "server/batch/line_reader.h"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace millrace::server::batch {
namespace {

constexpr std::size_t kReadBytes = 64 << 10;

}  // namespace

std::optional<LineReader::Line> LineReader::next() {
  std::size_t end = buffer_.find('\n', searched_);
  const bool whole = end != std::string::npos;
  if (!whole && ended_ && (skipping_ || !buffer_.empty())) end = buffer_.size();
  if (end == std::string::npos) {
    searched_ = buffer_.size();
    if (buffer_.size() > max_bytes_) {
      skipping_ = true;
      buffer_.clear();
      searched_ = 0;
    }
    return std::nullopt;
  }
  Line line{.text = {}, .too_long = skipping_ || end > max_bytes_};
  if (!line.too_long) line.text = buffer_.substr(0, end);
  buffer_.erase(0, end + (whole ? 1 : 0));
  searched_ = 0;
  skipping_ = false;
  return line;
}

Result<void> LineReader::read_some() {
  std::array<char, kReadBytes> piece;
  const ssize_t n = ::read(fd_, piece.data(), piece.size());
  if (n < 0 && errno == EINTR) return {};
  if (n < 0) return make_error(ErrorCode::kInternal, "input-file", "cannot read: {}", std::strerror(errno));
  if (n == 0) ended_ = true;
  buffer_.append(piece.data(), static_cast<std::size_t>(n));
  bytes_read_ += static_cast<std::uint64_t>(n);
  return {};
}

}  // namespace millrace::server::batch

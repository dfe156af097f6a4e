#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::server::batch {

// Reads lines of a file descriptor in bounded memory: at most max_bytes and 64 KiB. The text of a longer line is
// dropped, and the line marked. One thread.
class LineReader {
 public:
  struct Line {
    std::string text;       // without the newline; empty if too_long
    bool too_long = false;  // the line has more than max_bytes
  };
  // The caller keeps `fd` open.
  LineReader(int fd, std::size_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}

  // The next line, if all of it has been read; never reads itself. The last line needs no newline.
  std::optional<Line> next();
  // Whether the input has ended and next() has given all of its lines.
  bool ended() const noexcept { return ended_ && buffer_.empty() && !skipping_; }
  // Whether next() gives no line until read_some() has read more bytes.
  bool wants_bytes() const noexcept { return !ended_ && buffer_.find('\n', searched_) == std::string::npos; }
  // Reads up to 64 KiB; waits only where the descriptor is not readable. kInternal for input-file, with the cause. Call
  // next() until it has no line before reading more, else memory grows.
  Result<void> read_some();
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  const int fd_;
  const std::size_t max_bytes_;
  std::string buffer_;
  std::size_t searched_ = 0;  // the first so many bytes of buffer_ hold no newline
  std::uint64_t bytes_read_ = 0;
  bool ended_ = false;     // the descriptor is at its end
  bool skipping_ = false;  // what comes next is the rest of a line that is too long
};

}  // namespace millrace::server::batch

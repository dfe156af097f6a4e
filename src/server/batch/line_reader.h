#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::server::batch {

// Reads lines from a file descriptor in bounded memory: longer lines are skipped and reported. One thread.
class LineReader {
 public:
  struct Line {
    std::string text;       // without the line end; empty if too long
    bool too_long = false;  // more than `max_bytes`
  };
  LineReader(int fd, std::size_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}

  // The next line, if it was read completely. The last line needs no newline.
  std::optional<Line> next();
  bool ended() const noexcept { return ended_ && buffer_.empty() && !skipping_; }
  // Whether next() needs read_some() first.
  bool wants_bytes() const noexcept { return !ended_ && buffer_.find('\n', searched_) == std::string::npos; }
  // Calls read() once, which does not block if the descriptor is readable. kInternal names the failure.
  Result<void> read_some();
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  const int fd_;
  const std::size_t max_bytes_;
  std::string buffer_;
  std::size_t searched_ = 0;  // the first so many bytes of buffer_ hold no newline
  std::uint64_t bytes_read_ = 0;
  bool ended_ = false;     // end of file was read
  bool skipping_ = false;  // drops the rest of a line that is too long
};

}  // namespace millrace::server::batch

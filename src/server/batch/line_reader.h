#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace millrace::server::batch {

// Lines of a file descriptor, in memory of bounded size: what is too long is skipped and said to have been. One thread.
class LineReader {
 public:
  struct Line {
    std::string text;       // without its end; empty where it was too long
    bool too_long = false;  // more than `max_bytes`
  };
  LineReader(int fd, std::size_t max_bytes) : fd_(fd), max_bytes_(max_bytes) {}

  // The next line, if all of it was read. The last one needs no newline.
  std::optional<Line> next();
  bool ended() const noexcept { return ended_ && buffer_.empty() && !skipping_; }
  // Bytes are to be read before next() can give more.
  bool wants_bytes() const noexcept { return !ended_ && buffer_.find('\n', searched_) == std::string::npos; }
  // Reads once: does not wait where the descriptor is readable. kInternal names the failure.
  Result<void> read_some();
  std::uint64_t bytes_read() const noexcept { return bytes_read_; }

 private:
  const int fd_;
  const std::size_t max_bytes_;
  std::string buffer_;
  std::size_t searched_ = 0;  // of buffer_, bytes that hold no newline
  std::uint64_t bytes_read_ = 0;
  bool ended_ = false;     // the descriptor has
  bool skipping_ = false;  // the rest of a line that is too long
};

}  // namespace millrace::server::batch

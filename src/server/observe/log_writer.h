#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/observe/drop_queue.h"

namespace millrace::server::observe {

enum class LogFormat { kText, kJson };

// A field of a log line, beside its message. With `number`, `value` is the text of a JSON number.
struct LogField {
  std::string name, value;
  bool number = false;
};

// Writes log lines to a file descriptor, on a thread of its own. Where a terminal is stopped, a pipe is not read or a
// disk is full, lines are dropped and counted; callers never wait. While it exists it also gets all lines of
// base/log.h, so there is one at a time. Thread-safe.
class LogWriter {
 public:
  struct Config {
    LogFormat format = LogFormat::kText;
    int fd = 2;                    // stays open; the writer does not close it
    bool colour = false;           // colours of terminals, in text only
    std::size_t max_lines = 4096;  // that wait to be written
    // Longest time for which the writing thread waits for lines before it looks whether lines were dropped.
    std::chrono::milliseconds tick{1000};
    // Longest time for which flush() and the destructor wait for a reader.
    std::chrono::milliseconds last_words{1000};
  };
  // The clock of the times of lines.
  using WallClock = std::chrono::system_clock;

  explicit LogWriter(const Config& config);
  ~LogWriter();  // writes queued lines, for as long as last_words allows
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void write(log::Level level, std::string_view message, std::vector<LogField> fields = {});
  // Waits until the lines queued before are written or dropped, for as long as last_words allows.
  void flush();
  std::int64_t dropped() const noexcept { return queue_.dropped(); }

 private:
  struct Line {
    log::Level level;
    WallClock::time_point time;
    std::string message;
    std::vector<LogField> fields;
  };
  void run();
  bool put(std::string_view bytes);

  const Config config_;
  DropQueue<Line> queue_;
  std::atomic<std::int64_t> queued_ = 0, done_ = 0;  // lines; done: written or dropped
  std::thread thread_;
};

// One line with its newline; it begins with the time (UTC, ISO 8601, milliseconds). Control characters and bytes that
// are not UTF-8 are escaped, so that no name of a model can forge lines or move a terminal's cursor.
std::string format_line(LogFormat format, bool colour, log::Level level, LogWriter::WallClock::time_point time,
                        std::string_view message, std::span<const LogField> fields);
// Escapes control characters: "\n" -> "\\n", ESC -> "\\x1b"; bytes that are not UTF-8 as "\\xff".
std::string escape_controls(std::string_view text);

}  // namespace millrace::server::observe

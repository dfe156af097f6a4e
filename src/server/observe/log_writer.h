#pragma once

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

// A field of a log line beside its message. Numbers are already formatted.
struct LogField {
  std::string name, value;
  bool number = false;
};

// Writes log lines to a file descriptor on its own thread. If the descriptor blocks (a stopped terminal, an unread
// pipe, a full disk), lines are dropped and counted, and no other thread waits. Receives all lines of base/log.h while
// it lives.
class LogWriter {
 public:
  struct Config {
    LogFormat format = LogFormat::kText;
    int fd = 2;
    bool colour = false;
    std::size_t max_lines = 4096;
    // Called by the writing thread at least that often; it may log.
    std::chrono::milliseconds tick{1000};
  };
  // The clock of lines' times.
  using WallClock = std::chrono::system_clock;

  explicit LogWriter(const Config& config);
  ~LogWriter();  // writes the queued lines; gives up after a second without progress
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;

  void write(log::Level level, std::string_view message, std::vector<LogField> fields = {});
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
  std::thread thread_;
};

// One log line with its line end. Control characters and invalid UTF-8 are escaped, so that no text can forge lines or
// move a terminal's cursor.
std::string format_line(LogFormat format, bool colour, log::Level level, LogWriter::WallClock::time_point time,
                        std::string_view message, std::span<const LogField> fields);
// "\n" -> "\\n", ESC -> "\\x1b"; bytes that are not UTF-8 as "\\xff".
std::string escape_controls(std::string_view text);

}  // namespace millrace::server::observe

#pragma once

#include <fmt/core.h>

#include <functional>
#include <string>
#include <string_view>

// The only logger. Lines go to stderr (stdout is for results), at once and as "level text"; a server's go to its own
// writer (server/observe/log_writer.h). Thread-safe; never throws. Prompts and outputs must never be logged.

namespace millrace::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

// Replaces stderr as the destination of lines; an empty sink restores it. The sink is called on the thread that logs;
// it must be thread-safe, must not log, and must not throw. When set_sink() returns, no thread is inside the old sink.
// `flush` waits until the sink has written what it was given, or for a second.
using Sink = std::function<void(Level, std::string_view line)>;
void set_sink(Sink sink, std::function<void()> flush = {});
// For what ends the process without destructors (_exit): waits for lines that wait to be written, a second at most.
void flush();

void set_level(Level level);
Level level() noexcept;
// Whether levels are coloured, as on a terminal that shows colours; false at first.
void set_colour(bool colour);
bool colour() noexcept;
// "warning", with the codes of its colour around it or without.
std::string label(Level level, bool colour);
void write(Level level, std::string_view line);
// Past the sink, for one that wants its lines there after all.
void write_to_stderr(Level level, std::string_view line);

template <typename... Args>
void debug(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kDebug) write(Level::kDebug, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void info(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kInfo) write(Level::kInfo, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kWarn) write(Level::kWarn, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
void error(fmt::format_string<Args...> format, Args&&... args) {
  if (level() <= Level::kError) write(Level::kError, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace millrace::log

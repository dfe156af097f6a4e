#pragma once

#include <fmt/core.h>

#include <functional>
#include <string_view>

// The one logger. Lines go to stderr (stdout is for results); thread-safe; never throws. Prompts and outputs are never
// logged.

namespace millrace::log {

enum class Level { kDebug, kInfo, kWarn, kError, kOff };

// Where lines go instead of stderr; empty: stderr again. It is called on the thread that logs, must be thread-safe, not
// log itself, and never throw. No thread is inside the old one any more when this returns.
using Sink = std::function<void(Level, std::string_view line)>;
void set_sink(Sink sink);

void set_level(Level level);
Level level() noexcept;
void write(Level level, std::string_view line);

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

#include "base/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace millrace::log {
namespace {

std::atomic<Level> current_level{Level::kInfo};
std::atomic<bool> with_colour{false};

struct SharedSink {
  std::shared_mutex mutex;
  Sink sink;
  std::function<void()> flush;
};
SharedSink& shared_sink() {
  static SharedSink instance;
  return instance;
}

}  // namespace

void set_level(Level level) { current_level.store(level, std::memory_order_relaxed); }
Level level() noexcept { return current_level.load(std::memory_order_relaxed); }
void set_colour(bool colour) { with_colour.store(colour, std::memory_order_relaxed); }
bool colour() noexcept { return with_colour.load(std::memory_order_relaxed); }

std::string label(Level level, bool colour) {
  std::string_view name, code;
  switch (level) {
    case Level::kDebug: name = "debug", code = "\033[36m"; break;
    case Level::kInfo: name = "info", code = "\033[32m"; break;
    case Level::kWarn: name = "warning", code = "\033[33m"; break;
    case Level::kError: name = "error", code = "\033[31m"; break;
    case Level::kOff: name = "off"; break;
  }
  return colour ? fmt::format("{}{}\033[0m", code, name) : std::string(name);
}

void set_sink(Sink sink, std::function<void()> flush) {
  const std::unique_lock lock(shared_sink().mutex);
  shared_sink().sink = std::move(sink);
  shared_sink().flush = std::move(flush);
}

void flush() {
  const std::shared_lock lock(shared_sink().mutex);
  if (shared_sink().flush) shared_sink().flush();
}

void write(Level level, std::string_view line) {
  const std::shared_lock lock(shared_sink().mutex);
  const Sink& sink = shared_sink().sink;
  sink ? sink(level, line) : write_to_stderr(level, line);
}

void write_to_stderr(Level level, std::string_view line) {
  const std::string whole = fmt::format("{} {}\n", label(level, colour()), line);
  std::fwrite(whole.data(), 1, whole.size(), stderr);  // one call: lines of several threads stay whole
}

}  // namespace millrace::log

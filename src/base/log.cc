#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <mutex>
#include <shared_mutex>
#include <utility>

namespace millrace::log {
namespace {

std::atomic<Level> current_level{Level::kInfo};

struct SharedSink {
  std::shared_mutex mutex;
  Sink sink;
};
SharedSink& shared_sink() {
  static SharedSink instance;
  return instance;
}

spdlog::logger& logger() {
  static const std::shared_ptr<spdlog::logger> instance = [] {
    auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
    auto made = std::make_shared<spdlog::logger>("millrace", std::move(sink));
    made->set_pattern("%^%l%$ %v");
    made->set_level(spdlog::level::trace);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(Level level) {
  switch (level) {
    case Level::kDebug: return spdlog::level::debug;
    case Level::kInfo: return spdlog::level::info;
    case Level::kWarn: return spdlog::level::warn;
    case Level::kError: return spdlog::level::err;
    case Level::kOff: return spdlog::level::off;
  }
  return spdlog::level::off;
}

}  // namespace

void set_level(Level level) { current_level.store(level, std::memory_order_relaxed); }
Level level() noexcept { return current_level.load(std::memory_order_relaxed); }
void set_sink(Sink sink) {
  const std::unique_lock lock(shared_sink().mutex);
  shared_sink().sink = std::move(sink);
}
void write(Level level, std::string_view line) {
  const std::shared_lock lock(shared_sink().mutex);
  if (const Sink& sink = shared_sink().sink) {
    sink(level, line);
  } else {
    logger().log(to_spdlog(level), line);
  }
}

}  // namespace millrace::log

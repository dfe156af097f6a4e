#include "runtime/api/library.h"

#include <millrace/millrace.h>
#include <mutex>

#include "base/log.h"

namespace millrace::runtime {
namespace {

std::once_flag level_is_chosen;

log::Level internal_level(api::LogLevel level) noexcept {
  switch (level) {
    case api::LogLevel::kDebug: return log::Level::kDebug;
    case api::LogLevel::kInfo: return log::Level::kInfo;
    case api::LogLevel::kWarn: return log::Level::kWarn;
    case api::LogLevel::kError: return log::Level::kError;
    case api::LogLevel::kOff: return log::Level::kOff;
  }
  return log::Level::kOff;
}

api::LogLevel public_level(log::Level level) noexcept {
  switch (level) {
    case log::Level::kDebug: return api::LogLevel::kDebug;
    case log::Level::kInfo: return api::LogLevel::kInfo;
    case log::Level::kWarn: return api::LogLevel::kWarn;
    case log::Level::kError: return api::LogLevel::kError;
    case log::Level::kOff: return api::LogLevel::kOff;
  }
  return api::LogLevel::kOff;
}

}  // namespace

void quieten_once() {
  std::call_once(level_is_chosen, [] { log::set_level(log::Level::kWarn); });
}

}  // namespace millrace::runtime

namespace millrace::api {

const char* version() noexcept { return MILLRACE_VERSION; }

void set_log(LogLevel least, LogSink sink) noexcept {
  std::call_once(runtime::level_is_chosen, [] {});
  log::set_level(runtime::internal_level(least));
  if (!sink) return log::set_sink({});
  log::set_sink(
      [sink = std::move(sink)](log::Level level, std::string_view line) { sink(runtime::public_level(level), line); });
}

}  // namespace millrace::api

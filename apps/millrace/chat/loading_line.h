#pragma once

#include <mutex>
#include <string>

#include "base/log.h"
#include "screen/status_line.h"

namespace millrace::app {

// How far loading a model is, where stderr is a terminal. What is logged while it exists gets lines of its own, so
// there is one at a time. Thread-safe.
class LoadingLine {
 public:
  LoadingLine() {
    log::set_sink([this](log::Level level, std::string_view line) {
      const std::lock_guard lock(mutex_);
      status_.clear();
      log::write_to_stderr(level, line);
    });
  }
  ~LoadingLine() { log::set_sink({}); }
  LoadingLine(const LoadingLine&) = delete;
  LoadingLine& operator=(const LoadingLine&) = delete;

  void show(std::string text) {  // ASCII
    const std::lock_guard lock(mutex_);
    status_.show(std::move(text));
  }

 private:
  std::mutex mutex_;
  screen::StatusLine status_;
};

}  // namespace millrace::app

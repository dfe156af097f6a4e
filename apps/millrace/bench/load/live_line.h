#pragma once

#include <string>

#include "loadtest/load_run.h"

namespace millrace::bench {

// Shows the progress of a load on stderr: one line that is redrawn on a terminal, else a line every 5 seconds. Handles
// Ctrl-C: the first stops the load, so that the report is written; the second ends the process.
class LiveLine {
 public:
  explicit LiveLine(std::string label);  // "" = show nothing
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void name(std::string label);  // replaces the label, unless that is empty
  loadtest::LoadHooks hooks();
  static bool interrupted() noexcept;

 private:
  void show(const loadtest::Progress& progress);
  std::string label_;
  bool terminal_, drawn_ = false;
  TimePoint last_{};
  double last_seconds_ = 0.0;
  std::int64_t last_events_ = 0;
};

}  // namespace millrace::bench

#pragma once

#include <string>

#include "loadtest/load_run.h"

namespace millrace::bench {

// How a load goes, on stderr: on a terminal one line that is redrawn, else a line every 5 seconds. Holds Ctrl-C off
// while it lives: the first asks the load to stop, so that the report is written; the second ends the process as ever.
class LiveLine {
 public:
  explicit LiveLine(std::string label);  // "" = none is shown
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void name(std::string label);  // from now on; keeps an empty one
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

#pragma once

#include <string>

#include "loadtest/load_run.h"

namespace millrace::bench {

// Shows the progress of a load on stderr: on a terminal one line that is redrawn, else a line at most every 5 seconds.
// While it lives, the first Ctrl-C only asks the load to stop, so that the report is still written; the second ends the
// process. One at a time, since the handler of SIGINT is global.
class LiveLine {
 public:
  explicit LiveLine(std::string label);  // empty: shows nothing
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  void name(std::string label);  // replaces the label, unless that is empty
  // Hooks that show progress and stop the load at Ctrl-C. The object must outlive them.
  loadtest::LoadHooks hooks();
  // Whether Ctrl-C was pressed under any LiveLine of this process.
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

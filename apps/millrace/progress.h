#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"
#include "base/readable_bytes.h"

namespace millrace::app {

// Shows on stderr the progress of work that is counted in bytes. On a terminal it is a bar with bytes, rate and time
// left, redrawn at most ten times a second; elsewhere a line at most every 5 seconds. One thread at a time.
class Progress {
 public:
  enum class Mode { kAuto, kSilent };
  // `present_bytes` were done before the work began: they count as done but not towards the rate.
  Progress(std::string label, std::uint64_t total_bytes, Mode mode, std::uint64_t present_bytes = 0);
  ~Progress();  // ends the bar's line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done_bytes);  // of the total, `present_bytes` included
  // Prints `text` as a line above the bar, even with kSilent.
  void note(const std::string& text);

 private:
  std::string line(std::uint64_t done_bytes, TimePoint now) const;

  std::string label_;
  std::uint64_t total_bytes_, present_bytes_;
  bool silent_, terminal_, drawn_ = false;
  TimePoint start_, last_;
};

using millrace::readable_bytes;

}  // namespace millrace::app

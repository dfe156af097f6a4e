#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"
#include "base/readable_bytes.h"

namespace millrace::app {

// Progress of work counted in bytes, on stderr: on a terminal a bar with bytes, rate and time left, redrawn ten times a
// second; else a line each 5 seconds. Silent when told so. One thread.
class Progress {
 public:
  enum class Mode { kAuto, kSilent };
  // `present_bytes` were there before: they count as done, not towards the rate.
  Progress(std::string label, std::uint64_t total_bytes, Mode mode, std::uint64_t present_bytes = 0);
  ~Progress();  // ends the bar's line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done_bytes);
  // A line of its own; the bar goes on below it. Also when silent.
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

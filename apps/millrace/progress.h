#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"
#include "base/readable_bytes.h"

namespace millrace::app {

// Shows the progress of work counted in bytes on stderr: on a terminal a bar with bytes, rate and time left, redrawn
// ten times a second; otherwise a line every 5 seconds. One thread.
class Progress {
 public:
  enum class Mode { kAuto, kSilent };
  // `present_bytes` were done before: they count as done, but not for the rate.
  Progress(std::string label, std::uint64_t total_bytes, Mode mode, std::uint64_t present_bytes = 0);
  ~Progress();  // ends the bar's line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done_bytes);
  // Prints a line above the bar, also with kSilent.
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

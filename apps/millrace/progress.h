#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"

namespace millrace::app {

// Progress of work counted in bytes, on stderr: on a terminal a bar with bytes, rate and time left, redrawn ten times a
// second; else a line each 5 seconds. Silent when told so. One thread.
class Progress {
 public:
  enum class Mode { kAuto, kSilent };
  Progress(std::string label, std::uint64_t total_bytes, Mode mode);
  ~Progress();  // ends the bar's line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::uint64_t done_bytes);

 private:
  std::string line(std::uint64_t done_bytes, TimePoint now) const;

  std::string label_;
  std::uint64_t total_bytes_;
  bool silent_, terminal_, drawn_ = false;
  TimePoint start_, last_;
};

// "1.25 GB": decimal units, three digits.
std::string readable_bytes(double bytes);

}  // namespace millrace::app

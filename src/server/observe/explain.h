#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"

namespace millrace::server::observe {

// A part of an answer's time with one cause.
struct Cause {
  std::string_view name;  // one of cause_names()
  double milliseconds = 0.0;
  double share = 0.0;    // of the whole time
  std::string sentence;  // explanation for people
};

// Why an answer took its time: all causes with a share, the largest first. Milliseconds add up to the time from arrival
// to end, shares to 1.
std::vector<Cause> explain(const engine::RequestStats& stats, const engine::TimeSpent& spent);

// Milliseconds of all causes in the order of cause_names(), for sums over many answers.
std::span<const std::string_view> cause_names() noexcept;
std::vector<double> milliseconds_by_cause(const engine::TimeSpent& spent);

}  // namespace millrace::server::observe

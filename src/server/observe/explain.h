#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/request.h"

namespace millrace::server::observe {

// A part of an answer's time, by its cause.
struct Cause {
  std::string_view name;  // one of cause_names()
  double milliseconds = 0.0;
  double share = 0.0;    // of the answer's time, [0, 1]
  std::string sentence;  // explanation for people
};

// Why an answer took as long as it did: the causes that took time, the greatest first. Milliseconds add up to the time
// from arrival to end, shares to 1. For answers that have ended.
std::vector<Cause> explain(const engine::RequestStats& stats, const engine::TimeSpent& spent);

// The names of all causes, in a fixed order.
std::span<const std::string_view> cause_names() noexcept;
// The milliseconds of every cause, also 0, in the order of cause_names().
std::vector<double> milliseconds_by_cause(const engine::TimeSpent& spent);

}  // namespace millrace::server::observe

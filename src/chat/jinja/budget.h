#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "chat/jinja/failure.h"
#include "chat/template_context.h"

namespace millrace::chat::jinja {

// The remaining budget of one rendering. Everything that loops, copies or recurses for a template spends from it, so
// that TemplateLimits bound time and memory for any template and conversation. Functions throw Failure when a limit is
// exceeded.
class Budget {
 public:
  // The time limit counts from now, by `clock`; null: no time limit.
  explicit Budget(const TemplateLimits& limits, const Env* clock = nullptr)
      : limits_(limits), clock_(clock), steps_left_(limits.steps), next_check_(steps_left_ - kStepsBetweenChecks) {
    if (clock_) start_ = clock_->now();
  }

  const TemplateLimits& limits() const noexcept { return limits_; }

  void step(std::int64_t count = 1) {
    steps_left_ -= count;
    if (steps_left_ < next_check_) check();
  }
  // Bytes per step are chosen so that a step takes about 100 ns: a copy runs at the speed of memcpy, a scan decodes
  // each character.
  void copy(std::size_t bytes) { step(static_cast<std::int64_t>(bytes / 128)); }
  void scan(std::size_t bytes) { step(static_cast<std::int64_t>(bytes / 16)); }

  void check_string(std::size_t bytes) const {
    if (bytes > static_cast<std::size_t>(limits_.string_bytes)) {
      fail("a string exceeds the limit of {} bytes (string_bytes)", limits_.string_bytes);
    }
  }
  void check_depth(int depth) const {
    if (depth > limits_.depth) fail("nesting exceeds the limit of {} levels (depth)", limits_.depth);
  }

 private:
  static constexpr std::int64_t kStepsBetweenChecks = 1024;

  void check() {
    if (steps_left_ < 0) fail("the template exceeds the limit of {} steps", limits_.steps);
    next_check_ = std::max<std::int64_t>(0, steps_left_ - kStepsBetweenChecks);
    if (clock_ && milliseconds_between(start_, clock_->now()) > limits_.time_ms) {
      fail("the template exceeds the limit of {} ms (time_ms)", limits_.time_ms);
    }
  }

  const TemplateLimits limits_;
  const Env* const clock_;
  TimePoint start_{};
  std::int64_t steps_left_;
  std::int64_t next_check_;  // steps_left_ below which limits are looked at
};

}  // namespace millrace::chat::jinja

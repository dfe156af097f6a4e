#pragma once

#include <cstddef>
#include <cstdint>

#include "text/chat_template.h"
#include "text/jinja/failure.h"

namespace millrace::text::jinja {

// What one rendering may still spend. Everything that loops, copies or recurses on behalf of a template pays here, so
// that time and memory are bounded by TemplateLimits whatever the template and the conversation are.
class Budget {
 public:
  explicit Budget(const TemplateLimits& limits) : limits_(limits), steps_left_(limits.steps) {}

  const TemplateLimits& limits() const noexcept { return limits_; }

  void step(std::int64_t count = 1) {
    steps_left_ -= count;
    if (steps_left_ < 0) fail("the template exceeds the limit of {} steps", limits_.steps);
  }
  // Prices in bytes per step keep a step near 100 ns: a copy runs at memcpy's speed, a scan decodes each character.
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
  const TemplateLimits limits_;
  std::int64_t steps_left_;
};

}  // namespace millrace::text::jinja

#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"

namespace millrace::chat {

// Bounds on one rendering; a template or conversation that exceeds one gets kInvalidArgument naming it.
struct TemplateLimits {
  std::int64_t steps = 500'000;  // nodes evaluated and items touched by filters
  std::int64_t output_bytes = 8 << 20;
  std::int64_t string_bytes = 1 << 20;  // any one string made by an operation
  std::int64_t range_items = 100'000;
  int depth = 64;                       // nesting of source, calls and data
  int time_ms = 100;                    // of TemplateContext::clock; looked at every 1,024 steps
  std::int64_t source_bytes = 1 << 20;  // of the template itself; kBadFile
};

// What a rendering sees besides the variables of the caller.
struct TemplateContext {
  std::string bos_token, eos_token;
  std::string date_string = "";  // for strftime_now; the caller's clock, formatted per call by the format given
  std::int64_t unix_time = 0;    // seconds; what strftime_now formats (UTC)
  const Env* clock = nullptr;    // whose now() bounds the time of a rendering; null: Env::system()
};

}  // namespace millrace::chat

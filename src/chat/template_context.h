#pragma once

#include <cstdint>
#include <string>

#include "base/env.h"

namespace millrace::chat {

// Limits of one rendering. A template or conversation that exceeds one is kInvalidArgument naming it.
struct TemplateLimits {
  std::int64_t steps = 500'000;  // evaluated nodes, and items processed by filters
  std::int64_t output_bytes = 8 << 20;
  std::int64_t string_bytes = 1 << 20;  // for each string that an operation makes
  std::int64_t range_items = 100'000;
  int depth = 64;                       // nesting of source, calls and data
  int time_ms = 100;                    // by TemplateContext::clock, checked every 1,024 steps
  std::int64_t source_bytes = 1 << 20;  // of the template itself; exceeding it is kBadFile
};

// The environment of a rendering besides the caller's variables.
struct TemplateContext {
  std::string bos_token, eos_token;
  std::string date_string = "";  // the value of the variable date_string in the template
  std::int64_t unix_time = 0;    // seconds since 1970; the time that strftime_now formats (UTC)
  const Env* clock = nullptr;    // its now() bounds the time of a rendering; null: Env::system()
};

}  // namespace millrace::chat

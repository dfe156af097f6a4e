#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/env.h"
#include "base/result.h"

namespace millrace::grammar {

// What making one grammar may take. A source that takes more is rejected, also one of the operator.
struct WorkLimits {
  std::size_t source_bytes = 64 * 1024;
  int depth = 64;                 // of nested groups, schemas, parentheses
  std::int64_t repeat = 100'000;  // the largest number of a counted repetition
  std::int64_t states = 200'000;  // of all automata together
  double milliseconds = 2000.0;
};

// Counts what making a grammar takes, and says when it is too much, too late or not waited for any more.
class WorkMeter {
 public:
  explicit WorkMeter(const WorkLimits& limits = {}, const std::atomic<bool>* cancelled = nullptr,
                     Env& env = Env::system());
  const WorkLimits& limits() const noexcept { return limits_; }

  // Spends `states` states, or so many times the work of one. kResourceExhausted with param "grammar", or kCancelled.
  Result<void> spend(std::int64_t states = 1);

 private:
  Result<void> look();
  const WorkLimits limits_;
  const std::atomic<bool>* cancelled_;
  Env& env_;
  const TimePoint start_;
  std::int64_t spent_ = 0, next_look_ = 0;
};

// What is wrong with a source: kInvalidArgument with param "grammar".
template <typename... Args>
Error grammar_invalid(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "grammar", format, std::forward<Args>(args)...);
}

}  // namespace millrace::grammar

#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/env.h"
#include "base/result.h"

namespace millrace::grammar {

// Limits of making one grammar. A source that exceeds them is rejected, whether it comes from a request or from the
// operator.
struct WorkLimits {
  std::size_t source_bytes = 64 * 1024;
  int depth = 64;                 // of nested groups, schemas, parentheses
  std::int64_t repeat = 100'000;  // limit of counted repetitions
  std::int64_t states = 200'000;  // of all automata together
  double milliseconds = 2000.0;
};

// Measures the work of making a grammar, and ends it with an error when it exceeds the limits or is cancelled.
class WorkMeter {
 public:
  explicit WorkMeter(const WorkLimits& limits = {}, const std::atomic<bool>* cancelled = nullptr,
                     Env& env = Env::system());
  const WorkLimits& limits() const noexcept { return limits_; }

  // Spends the work of so many states. kResourceExhausted with param "grammar", or kCancelled.
  Result<void> spend(std::int64_t states = 1);

 private:
  Result<void> look();
  const WorkLimits limits_;
  const std::atomic<bool>* cancelled_;
  Env& env_;
  const TimePoint start_;
  std::int64_t spent_ = 0, next_look_ = 0;
};

// The error for a mistake in a source: kInvalidArgument with param "grammar".
template <typename... Args>
Error grammar_invalid(fmt::format_string<Args...> format, Args&&... args) {
  return make_error(ErrorCode::kInvalidArgument, "grammar", format, std::forward<Args>(args)...);
}

}  // namespace millrace::grammar

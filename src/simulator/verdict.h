#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace millrace::simulator {

// A broken promise of the engine.
struct Violation {
  std::string invariant;  // its name in docs/simulator.md: "D1"
  std::int64_t step = 0;
  std::uint64_t request = 0;  // 0: no request in particular
  std::string what;           // what was found and what was expected
};

// Keeps the first violation of a run. Later ones are ignored, as they may only be its consequences.
class Verdict {
 public:
  bool failed() const noexcept { return first_.has_value(); }
  const std::optional<Violation>& violation() const noexcept { return first_; }
  void at_step(std::int64_t step) noexcept { step_ = step; }

  template <typename... Args>
  void fail(std::string_view invariant, std::uint64_t request, fmt::format_string<Args...> format, Args&&... args) {
    if (!first_) first_ = {std::string(invariant), step_, request, fmt::format(format, std::forward<Args>(args)...)};
  }

 private:
  std::optional<Violation> first_;
  std::int64_t step_ = 0;
};

}  // namespace millrace::simulator

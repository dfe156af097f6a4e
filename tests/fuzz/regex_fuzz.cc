// Any bytes as a regular expression: it is an automaton and an expression of the same language, or an error.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "grammar/regex/regex.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::grammar;
  if (size == 0) return 0;
  const std::string_view pattern(reinterpret_cast<const char*>(data) + 1, size - 1);
  const RegexMatch match = data[0] % 2 == 0 ? RegexMatch::kWhole : RegexMatch::kSearch;
  const RegexFlags flags{.ignore_case = data[0] / 2 % 2 == 0, .dot_is_anything = data[0] / 4 % 2 == 0};
  const WorkLimits limits{.states = 20'000, .milliseconds = 1000};
  WorkMeter meter(limits), other(limits);
  Grammar grammar;
  const auto automaton = regex_automaton(pattern, match, meter, flags);
  const auto expression = add_regex(grammar, pattern, match, other, flags);
  if (automaton) CHECK(expression.ok());  // it takes less
  if (!automaton) CHECK(!automaton.error().message.empty());
  return 0;
}

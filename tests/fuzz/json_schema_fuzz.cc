// Any bytes as a JSON Schema: a grammar or an error that says something, and never much work.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "grammar/language.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::grammar;
  if (size == 0) return 0;
  const GrammarSource source{.language = "json_schema",
                             .text = std::string(reinterpret_cast<const char*>(data) + 1, size - 1),
                             .white_space = static_cast<GrammarSource::WhiteSpace>(data[0] % 3),
                             .ignore_unsupported = data[0] / 4 % 2 == 1};
  WorkMeter meter({.states = 20'000, .milliseconds = 1000});
  const auto grammar = read_grammar(source, meter);
  if (!grammar) CHECK(!grammar.error().message.empty());
  if (grammar && !source.ignore_unsupported) CHECK(grammar->ignored().empty());
  return 0;
}

// A regular expression that the whole text must fit.

#include "grammar/regex/regex.h"
#include "grammar/language.h"

namespace millrace::grammar::languages {
namespace {

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  return add_regex(to, source.text, RegexMatch::kWhole, meter);
}

}  // namespace

Language regex() { return {.name = "regex", .description = "a regular expression", .add = add}; }

}  // namespace millrace::grammar::languages

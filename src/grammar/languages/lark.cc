// Lark, as llguidance reads it: `start: "a" WORD+`.

#include "grammar/grammar_text/lark_reader.h"

namespace millrace::grammar::languages {
namespace {

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  return LarkReader(to, source, meter).run();
}

}  // namespace

Language lark() { return {.name = "lark", .description = "a Lark grammar (start: ...)", .add = add}; }

}  // namespace millrace::grammar::languages

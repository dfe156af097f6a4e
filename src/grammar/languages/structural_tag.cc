// Structural tags, as xgrammar describes and vLLM takes them: JSON.

#include "grammar/structural_tag/structural_tag_reader.h"

namespace millrace::grammar::languages {
namespace {

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  return StructuralTagReader(to, source, meter).run();
}

}  // namespace

Language structural_tag() { return {.name = "structural_tag", .description = "free text with tags in it", .add = add}; }

}  // namespace millrace::grammar::languages

// GBNF or Lark, whichever it looks like, as vLLM's `structured_outputs.grammar` takes both.

#include <algorithm>

#include "grammar/language.h"

namespace millrace::grammar::languages {
namespace {

// Whether a line has "::=" before any comment.
bool looks_like_gbnf(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    const std::string_view line = text.substr(0, end + 1);
    if (line.substr(0, std::min(line.find('#'), line.find("//"))).find("::=") != line.npos) return true;
    text.remove_prefix(end + 1);
  }
  return false;
}

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  GrammarSource drafted = source;
  drafted.language = looks_like_gbnf(source.text) ? "gbnf" : "lark";
  return add_source(to, drafted, meter);
}

}  // namespace

Language ebnf() { return {.name = "ebnf", .description = "GBNF or Lark, told apart by \"::=\"", .add = add}; }

}  // namespace millrace::grammar::languages

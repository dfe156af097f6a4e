// One of several texts: a JSON list of strings.

#include <utility>

#include "grammar/json_source.h"
#include "grammar/language.h"

namespace millrace::grammar::languages {
namespace {

Result<ExpressionId> add(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  const auto list = parse_json_source("choice", source.text);
  if (!list) return list.error();
  if (!list->is_array() || list->empty()) return grammar_invalid("choice is a list of at least one string");
  std::vector<ExpressionId> texts;
  for (const auto& one : *list) {
    if (!one.is_string()) return grammar_invalid("choice is a list of strings; entry {} is none", texts.size());
    const auto& text = one.get_ref<const std::string&>();
    if (auto fine = meter.spend(static_cast<std::int64_t>(text.size())); !fine) return fine.error();
    texts.push_back(to.bytes(text));
  }
  return to.choice(std::move(texts));
}

}  // namespace

Language choice() { return {.name = "choice", .description = "one of a list of texts", .add = add}; }

}  // namespace millrace::grammar::languages

#include "grammar/language.h"

#include <algorithm>

namespace millrace::grammar {

Result<ExpressionId> add_source(Grammar& to, const GrammarSource& source, WorkMeter& meter) {
  if (source.text.size() > meter.limits().source_bytes) {
    return make_error(ErrorCode::kResourceExhausted, "grammar", "the grammar has {} bytes; the limit is {}",
                      source.text.size(), meter.limits().source_bytes);
  }
  for (const Language& language : all_languages()) {
    if (language.name == source.language) return language.add(to, source, meter);
  }
  std::string names;
  for (const Language& language : all_languages()) names += (names.empty() ? "" : ", ") + std::string(language.name);
  return grammar_invalid("there is no grammar language \"{}\"; there are: {}", source.language, names);
}

Result<Grammar> read_grammar(const GrammarSource& source, WorkMeter& meter) {
  Grammar made;
  const auto root = add_source(made, source, meter);
  if (!root) return root.error();
  made.set_root(*root);
  return made;
}

}  // namespace millrace::grammar

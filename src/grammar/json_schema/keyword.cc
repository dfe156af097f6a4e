#include "grammar/json_schema/keyword.h"

#include "grammar/regex/regex.h"

namespace millrace::grammar::json_schema {

Result<const CharAutomaton*> PatternCache::find(const std::string& regex) {
  if (const auto found = made_.find(regex); found != made_.end()) return &found->second;
  auto made = regex_automaton(regex, RegexMatch::kSearch, meter_);
  if (!made) return made.error();
  return &made_.emplace(regex, *std::move(made)).first->second;
}

const Json* KeywordUse::beside(std::string_view keyword) const {
  const auto found = schema.find(keyword);
  return found == schema.end() ? nullptr : &*found;
}

Result<std::int64_t> KeywordUse::count() const {
  constexpr double kMax = 1e15;
  if (!value.is_number() || value.get<double>() < 0 || !Decimal::of(value).fraction.empty()) {
    return invalid("must be an integer from 0");
  }
  return static_cast<std::int64_t>(std::min(value.get<double>(), kMax));
}

Result<std::int64_t> KeywordUse::count_beside(std::string_view keyword, std::int64_t otherwise) const {
  const Json* found = beside(keyword);
  if (found == nullptr) return otherwise;
  return KeywordUse{keyword, *found, schema, document, patterns}.count();
}

const Keyword* find_keyword(std::string_view name) {
  static const auto table = [] {
    std::map<std::string_view, const Keyword*> made;
    for (const auto keywords :
         {value_keywords(), number_keywords(), string_keywords(), array_keywords(), object_keywords()}) {
      for (const Keyword& keyword : keywords) made.emplace(keyword.name, &keyword);
    }
    return made;
  }();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

}  // namespace millrace::grammar::json_schema

#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "grammar/char_automaton.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/facts.h"
#include "grammar/work_limits.h"

namespace millrace::grammar::json_schema {

// The automata of "pattern"s, each made once.
class PatternCache {
 public:
  explicit PatternCache(WorkMeter& meter) : meter_(meter) {}
  Result<const CharAutomaton*> find(const std::string& regex);

 private:
  WorkMeter& meter_;
  std::map<std::string, CharAutomaton> made_;
};

// A keyword with its value in a schema.
struct KeywordUse {
  std::string_view name;
  const Json& value;
  const Json& schema;
  const Document& document;
  PatternCache& patterns;

  Error invalid(std::string_view what) const { return document.invalid(schema, name, what); }
  Error unsupported(std::string_view what) const { return document.unsupported(schema, name, what); }
  const Json* beside(std::string_view keyword) const;  // of the same schema; null if absent
  Result<std::int64_t> count() const;                  // the value, which must be an integer >= 0
  Result<std::int64_t> count_beside(std::string_view keyword, std::int64_t otherwise) const;
};

// A keyword that applies to a value by itself. `holds` adds to the facts of the schema object alone, and leaves them
// unchanged if it fails.
struct Keyword {
  std::string_view name;
  Result<void> (*holds)(const KeywordUse& use, Facts& facts);
  // Appends the ways in which a value can violate the keyword.
  Result<void> (*fails)(const KeywordUse& use, Alternatives& cases);
};
std::span<const Keyword> value_keywords();  // of the files keywords/*.cc
std::span<const Keyword> number_keywords();
std::span<const Keyword> string_keywords();
std::span<const Keyword> array_keywords();
std::span<const Keyword> object_keywords();
const Keyword* find_keyword(std::string_view name);  // searches all of these; null if there is none

// The regular expression for a "format"; null: the format has no effect.
const std::string* format_regex(std::string_view format);

}  // namespace millrace::grammar::json_schema

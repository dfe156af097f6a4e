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

// "pattern"s as automata, each made once.
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
  const Json* beside(std::string_view keyword) const;  // of the same schema; none where it is absent
  Result<std::int64_t> count() const;                  // the value, an integer from 0
  Result<std::int64_t> count_beside(std::string_view keyword, std::int64_t otherwise) const;
};

// A keyword that speaks of a value by itself. The facts that `holds` adds to are those of the schema object alone, and
// stay as they are where it fails.
struct Keyword {
  std::string_view name;
  Result<void> (*holds)(const KeywordUse& use, Facts& facts);
  // Appends how a value can be for which the keyword does not hold.
  Result<void> (*fails)(const KeywordUse& use, Alternatives& cases);
};
std::span<const Keyword> value_keywords();  // keywords/*.cc
std::span<const Keyword> number_keywords();
std::span<const Keyword> string_keywords();
std::span<const Keyword> array_keywords();
std::span<const Keyword> object_keywords();
const Keyword* find_keyword(std::string_view name);  // of all of these

// A regular expression for the values of a "format"; none: the format is a remark.
const std::string* format_regex(std::string_view format);

}  // namespace millrace::grammar::json_schema

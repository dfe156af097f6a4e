#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "grammar/grammar.h"
#include "grammar/json_schema/decimal.h"
#include "grammar/json_schema/json_type.h"

namespace millrace::grammar::json_schema {

// The condition that a value fits a schema of the document or, with `holds` false, that it does not.
struct Condition {
  const Json* schema = nullptr;
  bool holds = true;
  auto operator<=>(const Condition&) const = default;
};

// Conditions that a value must all fit, in the order in which they were added. Empty: any value fits.
using Goal = std::vector<Condition>;
void add_to(Goal& goal, const Goal& more);  // adds those that are not there yet
Goal both(Goal one, const Goal& other);
const Json& nothing();  // the schema `false`

struct NumberFacts {
  struct Bound {
    Decimal at;
    bool open = false;  // `at` itself is excluded
    bool operator==(const Bound&) const = default;
  };
  struct Multiple {
    Decimal of;
    bool holds = true;
    bool operator==(const Multiple&) const = default;
  };
  std::optional<Bound> lower, upper;
  std::vector<Multiple> multiples;
  std::vector<Decimal> excluded;

  void at_least(Bound bound);
  void at_most(Bound bound);
  bool operator==(const NumberFacts&) const = default;
};

struct StringFacts {
  struct Pattern {
    std::string regex;  // may match anywhere in the string
    bool holds = true;
    bool operator==(const Pattern&) const = default;
  };
  std::int64_t least = 0, most = kUnlimited;  // characters
  std::vector<Pattern> patterns;              // of "pattern" and "format"
  std::vector<std::string> excluded;
  bool operator==(const StringFacts&) const = default;
};

struct ArrayFacts {
  struct Contains {
    Goal goal;
    std::int64_t least = 1, most = kUnlimited;
    std::size_t from = 0;  // index of the first item that counts
    bool operator==(const Contains&) const = default;
  };
  std::vector<Goal> prefix;
  Goal rest;
  std::int64_t least = 0, most = kUnlimited;
  std::vector<Contains> contains;
  const Json* unique = nullptr;  // the schema with "uniqueItems"
  // The items that "unevaluatedItems" of the same schema object does not apply to: the first so many, or all.
  std::size_t evaluated = 0;
  bool all_evaluated = false;
  bool evaluates_some = false;  // "contains" evaluates items, but which ones is unknown

  const Goal& item(std::size_t at) const { return at < prefix.size() ? prefix[at] : rest; }
  bool operator==(const ArrayFacts&) const = default;
};

struct ObjectFacts {
  using Named = std::pair<std::string, Goal>;
  // "properties", "patternProperties" and "additionalProperties" of one schema object, which depend on each other.
  struct Scope {
    std::vector<Named> properties, patterns;
    std::optional<Goal> additional;  // for names in neither of the others
    bool evaluates = true;           // whether "unevaluatedProperties" takes it into account
    bool operator==(const Scope&) const = default;
  };
  // At least one property has a name outside the scope (which contains the pattern, if there is one) and fits the goal.
  struct Somewhere {
    Scope outside;
    std::optional<std::string> pattern;
    Goal goal;
    bool operator==(const Somewhere&) const = default;
  };
  std::vector<Scope> scopes;
  std::vector<std::string> required;
  Goal names;
  std::int64_t least = 0, most = kUnlimited;  // properties
  std::vector<Somewhere> somewhere;
  bool operator==(const ObjectFacts&) const = default;
};

// Facts that a value satisfies all at once. Those of strings apply only if the value is a string, and so on.
struct Facts {
  Types types = kAnyType;
  std::optional<std::vector<const Json*>> values;  // the value is one of these
  NumberFacts number;
  StringFacts string;
  ArrayFacts array;
  ObjectFacts object;

  // Removes facts that the types make irrelevant, so that equal conditions compare equal.
  void settle();
  bool operator==(const Facts&) const = default;
};
Facts meet(const Facts& a, const Facts& b);

// A value fits if it satisfies at least one of these.
using Alternatives = std::vector<Facts>;
void append(Alternatives& to, Alternatives more);

}  // namespace millrace::grammar::json_schema

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

// The condition that a value fits a schema of the document, or that it does not.
struct Condition {
  const Json* schema = nullptr;
  bool holds = true;
  auto operator<=>(const Condition&) const = default;
};

// What a value must fit: all of the conditions, in the order in which they were asked. None: any value does.
using Goal = std::vector<Condition>;
void add_to(Goal& goal, const Goal& more);  // what is there already is not repeated
Goal both(Goal one, const Goal& other);
const Json& nothing();  // the schema `false`

struct NumberFacts {
  struct Bound {
    Decimal at;
    bool open = false;  // `at` itself is outside
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
    std::string regex;  // found anywhere
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
    std::size_t from = 0;  // only items from that one on are looked at
    bool operator==(const Contains&) const = default;
  };
  std::vector<Goal> prefix;
  Goal rest;
  std::int64_t least = 0, most = kUnlimited;
  std::vector<Contains> contains;
  const Json* unique = nullptr;  // the schema that says so
  // What "unevaluatedItems" of the same schema object does not see: so many items, or all.
  std::size_t evaluated = 0;
  bool all_evaluated = false;
  bool evaluates_some = false;  // by "contains": which is unknown

  const Goal& item(std::size_t at) const { return at < prefix.size() ? prefix[at] : rest; }
  bool operator==(const ArrayFacts&) const = default;
};

struct ObjectFacts {
  using Named = std::pair<std::string, Goal>;
  // "properties", "patternProperties" and "additionalProperties" of one schema object: they see each other.
  struct Scope {
    std::vector<Named> properties, patterns;
    std::optional<Goal> additional;  // for names that are in neither
    bool evaluates = true;           // "unevaluatedProperties" sees it
    bool operator==(const Scope&) const = default;
  };
  // At least one property has a name that is none of the scope's (and in which the pattern is found), and fits.
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

// What is known of a value, all of it at once. What is said of strings matters only where the value is one, and so on.
struct Facts {
  Types types = kAnyType;
  std::optional<std::vector<const Json*>> values;  // it is one of these
  NumberFacts number;
  StringFacts string;
  ArrayFacts array;
  ObjectFacts object;

  // Forgets what the types leave without meaning, so that what says the same is equal.
  void settle();
  bool operator==(const Facts&) const = default;
};
Facts meet(const Facts& a, const Facts& b);

// A value fits where it fits one of them.
using Alternatives = std::vector<Facts>;
void append(Alternatives& to, Alternatives more);

}  // namespace millrace::grammar::json_schema

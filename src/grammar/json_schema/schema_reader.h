#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "grammar/grammar.h"
#include "grammar/json_schema/document.h"
#include "grammar/json_schema/facts.h"
#include "grammar/json_schema/json_schema_options.h"
#include "grammar/json_schema/keyword.h"
#include "grammar/work_limits.h"

namespace millrace::grammar::json_schema {

// The properties that an object may have, each with everything that its value must fit.
struct ObjectPlan {
  struct Property {
    std::string name;
    Goal goal;
    bool required = false;
    std::vector<bool> marks;  // for each of ObjectFacts::somewhere: whether this property may satisfy it
  };
  struct Names {  // of properties that the schema does not name
    CharAutomaton names;
    Goal goal;
    std::vector<bool> marks;
  };
  std::vector<Property> declared;  // in the order of the schema, without those that nothing fits
  std::vector<Names> others;       // disjoint
  bool possible = true;            // false: nothing fits a required property
};

// Converts schemas to facts, and answers the questions that writing a grammar asks about them. Answers are cached.
class SchemaReader {
 public:
  SchemaReader(const Document& document, bool ignore_unsupported, WorkMeter& meter, std::vector<std::string>& ignored);

  // The goal as alternatives of facts. The pointer stays valid while the reader exists.
  Result<const Alternatives*> alternatives(const Goal& goal);
  // Whether some value fits. It may return true where that is unknown, in schemas nested without end.
  Result<bool> possible(const Goal& goal);
  Result<bool> possible(const Facts& facts);
  Result<bool> fits(const Json& value, const Goal& goal);
  Result<bool> fits(const Json& value, const Facts& facts);
  // Whether it is one of facts.values, if there are any.
  Result<bool> listed_fits(const Json& value, const Facts& facts);
  Result<CharAutomaton> strings(const StringFacts& facts);
  Result<ObjectPlan> plan(const ObjectFacts& facts);
  // All values that fit, if they are few and enumerated: by "enum" or "const", or as true, false and null.
  Result<std::optional<std::vector<const Json*>>> finite(const Goal& goal);

  // Records a keyword that cannot be expressed; an error unless ignore_unsupported.
  Result<void> left_out(const Json& schema, std::string_view keyword, std::string_view why);
  WorkMeter& meter() noexcept { return meter_; }
  PatternCache& patterns() noexcept { return patterns_; }

 private:
  using Shared = std::shared_ptr<const Alternatives>;
  struct Key {
    Condition condition;
    bool annotating;
    auto operator<=>(const Key&) const = default;
  };

  // combinations.cc: one schema, and the schemas in it that speak of the same value
  Result<Shared> expand(Condition condition);
  Result<Alternatives> expand_anew(Condition condition);
  Result<Alternatives> holding(const Json& schema);
  Result<Alternatives> failing(const Json& schema);
  Result<Facts> facts_of(const Json& schema);
  Result<void> also(Alternatives& made, const Json& schema, const std::string& keyword, const Json& value);
  Result<void> or_fails(Alternatives& made, const Json& schema, const std::string& keyword, const Json& value);
  Result<Alternatives> every_of(const Json& list, bool holds);
  Result<Alternatives> any_of(const Json& list, bool holds);
  Result<Alternatives> any_subset_of(const Json& list);
  Result<Alternatives> conditional(const Json& schema, const Json& condition, bool holds);
  Result<Alternatives> dependents(const Json& schema, const std::string& keyword, const Json& value, bool holds);
  Result<Alternatives> conjunction(const Alternatives& a, const Alternatives& b);
  // one_of.cc
  Result<Alternatives> one_of(const Json& schema, const Json& list);
  Result<Alternatives> none_or_two_of(const Json& list);
  Result<bool> disjoint(const Condition& a, const Condition& b);
  // unevaluated.cc
  Result<void> add_unevaluated(const Json& schema, Alternatives& made);

  const Document& document_;
  const bool ignore_unsupported_;
  WorkMeter& meter_;
  std::vector<std::string>& ignored_;
  PatternCache patterns_;
  int annotating_ = 0;                   // inside a schema whose "unevaluated..." asks which subschemas hold
  int level_ = 0;                        // of values inside values whose schemas are being read
  int depth_ = 0;                        // of schemas being read for the same value
  int approximations_ = 0;               // answers so far that are too wide, as a schema was still being read
  std::map<Condition, int> being_read_;  // at which level
  std::map<Key, Shared> expanded_;
  std::map<Goal, Shared> goals_;
  std::vector<Shared> passing_;  // too wide to be kept for the same goal, but pointed to
  std::map<Goal, bool> possible_;
  std::map<Goal, int> asked_;  // possible() is being found out; in which order
  int lowest_ = 0;             // of those that the answer builds on
};

}  // namespace millrace::grammar::json_schema

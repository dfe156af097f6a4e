// minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf.

#include "grammar/json_schema/keyword.h"

namespace millrace::grammar::json_schema {
namespace {

// In draft 4 "exclusiveMinimum": true speaks about "minimum".
bool opened(const KeywordUse& use) {
  if (use.name.starts_with("exclusive")) return true;
  const Json* exclusive = use.beside(use.name == "minimum" ? "exclusiveMinimum" : "exclusiveMaximum");
  return exclusive != nullptr && *exclusive == true;
}

bool says_nothing_alone(const KeywordUse& use) { return use.name.starts_with("exclusive") && use.value.is_boolean(); }

bool is_lower(const KeywordUse& use) { return use.name == "minimum" || use.name == "exclusiveMinimum"; }

Result<void> bound_holds(const KeywordUse& use, Facts& facts) {
  if (says_nothing_alone(use)) return {};
  if (!use.value.is_number()) return use.invalid("must be a number");
  NumberFacts::Bound bound{Decimal::of(use.value), opened(use)};
  is_lower(use) ? facts.number.at_least(std::move(bound)) : facts.number.at_most(std::move(bound));
  return {};
}

Result<void> bound_fails(const KeywordUse& use, Alternatives& cases) {
  if (says_nothing_alone(use)) return {};
  if (!use.value.is_number()) return use.invalid("must be a number");
  Facts facts;
  facts.types = kNumber;
  NumberFacts::Bound bound{Decimal::of(use.value), !opened(use)};
  is_lower(use) ? facts.number.at_most(std::move(bound)) : facts.number.at_least(std::move(bound));
  cases.push_back(std::move(facts));
  return {};
}

// Numbers modulo this are counted in states of an automaton.
constexpr std::int64_t kMaxMultiple = 20'000;

Result<NumberFacts::Multiple> multiple(const KeywordUse& use, bool holds) {
  if (!use.value.is_number() || use.value.get<double>() <= 0) return use.invalid("must be a number above 0");
  Decimal of = Decimal::of(use.value);
  if (!of.scaled(of.fraction.size(), kMaxMultiple)) {
    return use.unsupported("more than " + std::to_string(kMaxMultiple) + " in units of its last digit");
  }
  return NumberFacts::Multiple{std::move(of), holds};
}

Result<void> multiple_holds(const KeywordUse& use, Facts& facts) {
  auto read = multiple(use, true);
  if (!read) return read.error();
  facts.number.multiples.push_back(*std::move(read));
  return {};
}

Result<void> multiple_fails(const KeywordUse& use, Alternatives& cases) {
  auto read = multiple(use, false);
  if (!read) return read.error();
  Facts facts;
  facts.types = kNumber;
  facts.number.multiples.push_back(*std::move(read));
  cases.push_back(std::move(facts));
  return {};
}

constexpr Keyword kNumberKeywords[] = {
    {"minimum", bound_holds, bound_fails},          {"maximum", bound_holds, bound_fails},
    {"exclusiveMinimum", bound_holds, bound_fails}, {"exclusiveMaximum", bound_holds, bound_fails},
    {"multipleOf", multiple_holds, multiple_fails},
};

}  // namespace

std::span<const Keyword> number_keywords() { return kNumberKeywords; }

}  // namespace millrace::grammar::json_schema

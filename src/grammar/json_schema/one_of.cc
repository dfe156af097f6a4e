// oneOf: which of its schemas can hold at once, and what is left of each where the others do not.

#include <utility>

#include "grammar/json_schema/schema_reader.h"

namespace millrace::grammar::json_schema {

// Found out by what both say together; not found out counts as not disjoint, which costs work and says nothing false.
Result<bool> SchemaReader::disjoint(const Condition& a, const Condition& b) {
  const int before = approximations_;
  const auto one = expand(a);
  if (!one) return one.error();
  const auto other = expand(b);
  if (!other) return other.error();
  const auto both = conjunction(**one, **other);
  if (!both) return both.error();
  bool found = false;
  ++level_;
  const int depth = std::exchange(depth_, 0);
  Error failure;
  for (const Facts& facts : *both) {
    const auto some = possible(facts);
    if (!some) failure = some.error();
    found = !some || *some;
    if (found) break;
  }
  depth_ = depth;
  --level_;
  approximations_ = before;  // "possible" too often costs work, and says nothing false
  if (!failure.message.empty() && failure.code != ErrorCode::kUnsupported) return failure;
  return !found;
}

// Each schema, and none of those that could hold with it.
Result<Alternatives> SchemaReader::one_of(const Json& schema, const Json& list) {
  std::vector<std::vector<std::size_t>> meeting(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    for (std::size_t j = i + 1; j < list.size(); ++j) {
      const auto apart = disjoint({&list[i], true}, {&list[j], true});
      if (!apart) return apart.error();
      if (*apart) continue;
      meeting[i].push_back(j);
      meeting[j].push_back(i);
    }
  }
  Alternatives made;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const auto one = expand({&list[i], true});
    if (!one) return one.error();
    Alternatives alone = **one;
    for (const std::size_t j : meeting[i]) {
      const auto others = expand({&list[j], false});
      if (!others && others.error().code == ErrorCode::kUnsupported) {
        const auto done = left_out(schema, "oneOf", "two of its schemas may hold at once: " + others.error().message);
        if (!done) return done.error();
        return any_of(list, true);
      }
      if (!others) return others.error();
      auto both = conjunction(alone, **others);
      if (!both) return both;
      alone = *std::move(both);
    }
    append(made, std::move(alone));
  }
  return made;
}

Result<Alternatives> SchemaReader::none_or_two_of(const Json& list) {
  auto made = every_of(list, false);
  for (std::size_t i = 0; made && i < list.size(); ++i) {
    for (std::size_t j = i + 1; j < list.size(); ++j) {
      const auto one = expand({&list[i], true});
      if (!one) return one.error();
      const auto other = expand({&list[j], true});
      if (!other) return other.error();
      auto both = conjunction(**one, **other);
      if (!both) return both;
      append(*made, *std::move(both));
    }
  }
  return made;
}

}  // namespace millrace::grammar::json_schema

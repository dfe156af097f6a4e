#include "grammar/json_schema/facts.h"

#include <algorithm>
#include <iterator>

#include "grammar/json_schema/json_values.h"

namespace millrace::grammar::json_schema {
namespace {

std::int64_t smaller_limit(std::int64_t a, std::int64_t b) {
  if (a == kUnlimited) return b;
  return b == kUnlimited ? a : std::min(a, b);
}

template <typename T>
void append_new(std::vector<T>& to, const std::vector<T>& more) {
  for (const T& one : more) {
    if (std::find(to.begin(), to.end(), one) == to.end()) to.push_back(one);
  }
}

void add_values(Facts& to, const Facts& more) {
  if (!more.values) return;
  if (!to.values) {
    to.values = more.values;
    return;
  }
  const ValueSet others(*more.values);
  std::erase_if(*to.values, [&](const Json* value) { return !others.contains(*value); });
}

void add_arrays(ArrayFacts& to, const ArrayFacts& more) {
  const std::size_t length = std::max(to.prefix.size(), more.prefix.size());
  std::vector<Goal> prefix;
  for (std::size_t i = 0; i < length; ++i) prefix.push_back(both(to.item(i), more.item(i)));
  to.prefix = std::move(prefix);
  add_to(to.rest, more.rest);
  to.least = std::max(to.least, more.least);
  to.most = smaller_limit(to.most, more.most);
  append_new(to.contains, more.contains);
  if (to.unique == nullptr) to.unique = more.unique;
  to.evaluated = std::max(to.evaluated, more.evaluated);
  to.all_evaluated = to.all_evaluated || more.all_evaluated;
  to.evaluates_some = to.evaluates_some || more.evaluates_some;
}

void add_objects(ObjectFacts& to, const ObjectFacts& more) {
  append_new(to.scopes, more.scopes);
  append_new(to.required, more.required);
  add_to(to.names, more.names);
  to.least = std::max(to.least, more.least);
  to.most = smaller_limit(to.most, more.most);
  append_new(to.somewhere, more.somewhere);
}

}  // namespace

void add_to(Goal& goal, const Goal& more) { append_new(goal, more); }

Goal both(Goal one, const Goal& other) {
  add_to(one, other);
  return one;
}

const Json& nothing() {
  static const Json schema = false;
  return schema;
}

void NumberFacts::at_least(Bound bound) {
  if (!lower || lower->at < bound.at || (lower->at == bound.at && bound.open)) lower = std::move(bound);
}

void NumberFacts::at_most(Bound bound) {
  if (!upper || bound.at < upper->at || (upper->at == bound.at && bound.open)) upper = std::move(bound);
}

void Facts::settle() {
  if ((types & kNumber) == 0) number = {};
  if ((types & kString) == 0) string = {};
  if ((types & kArray) == 0) array = {};
  if ((types & kObject) == 0) object = {};
}

Facts meet(const Facts& a, const Facts& b) {
  Facts made = a;
  made.types &= b.types;
  add_values(made, b);
  if (b.number.lower) made.number.at_least(*b.number.lower);
  if (b.number.upper) made.number.at_most(*b.number.upper);
  append_new(made.number.multiples, b.number.multiples);
  append_new(made.number.excluded, b.number.excluded);
  made.string.least = std::max(a.string.least, b.string.least);
  made.string.most = smaller_limit(a.string.most, b.string.most);
  append_new(made.string.patterns, b.string.patterns);
  append_new(made.string.excluded, b.string.excluded);
  add_arrays(made.array, b.array);
  add_objects(made.object, b.object);
  made.settle();
  return made;
}

void append(Alternatives& to, Alternatives more) {
  to.insert(to.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace millrace::grammar::json_schema

// prefixItems, items, additionalItems, contains, minItems, maxItems, uniqueItems.

#include "grammar/json_schema/keyword.h"

namespace millrace::grammar::json_schema {
namespace {

Facts an_array() {
  Facts facts;
  facts.types = kArray;
  return facts;
}

// "items" as a list is what "prefixItems" was called before 2020-12.
bool is_prefix(const KeywordUse& use) { return use.name == "prefixItems" || use.value.is_array(); }

std::size_t prefix_length(const KeywordUse& use) {
  if (const Json* prefix = use.beside("prefixItems"); prefix != nullptr && prefix->is_array()) return prefix->size();
  const Json* items = use.beside("items");
  return items != nullptr && items->is_array() ? items->size() : 0;
}

Result<void> prefix_holds(const KeywordUse& use, Facts& facts) {
  if (!use.value.is_array()) return use.invalid("must be a list of schemas");
  facts.array.prefix.clear();
  for (const Json& schema : use.value) facts.array.prefix.push_back({{&schema, true}});
  facts.array.evaluated = use.value.size();
  return {};
}

Result<void> prefix_fails(const KeywordUse& use, Alternatives& cases) {
  if (!use.value.is_array()) return use.invalid("must be a list of schemas");
  for (std::size_t i = 0; i < use.value.size(); ++i) {
    cases.push_back(an_array());
    cases.back().array.least = static_cast<std::int64_t>(i) + 1;
    cases.back().array.prefix.resize(i + 1);
    cases.back().array.prefix[i] = {{&use.value[i], false}};
  }
  return {};
}

Result<void> rest_holds(const KeywordUse& use, Facts& facts) {
  facts.array.rest = {{&use.value, true}};
  facts.array.all_evaluated = true;
  return {};
}

Result<void> rest_fails(const KeywordUse& use, Alternatives& cases) {
  cases.push_back(an_array());
  cases.back().array.contains.push_back({.goal = {{&use.value, false}}, .from = prefix_length(use)});
  return {};
}

Result<void> items_hold(const KeywordUse& use, Facts& facts) {
  return is_prefix(use) ? prefix_holds(use, facts) : rest_holds(use, facts);
}

Result<void> items_fail(const KeywordUse& use, Alternatives& cases) {
  return is_prefix(use) ? prefix_fails(use, cases) : rest_fails(use, cases);
}

// "additionalItems" means something only beside "items" as a list.
Result<void> additional_items_holds(const KeywordUse& use, Facts& facts) {
  const Json* items = use.beside("items");
  return items != nullptr && items->is_array() ? rest_holds(use, facts) : Result<void>();
}

Result<void> additional_items_fails(const KeywordUse& use, Alternatives& cases) {
  const Json* items = use.beside("items");
  return items != nullptr && items->is_array() ? rest_fails(use, cases) : Result<void>();
}

Result<ArrayFacts::Contains> contains(const KeywordUse& use) {
  const auto least = use.count_beside("minContains", 1);
  if (!least) return least.error();
  const auto most = use.count_beside("maxContains", kUnlimited);
  if (!most) return most.error();
  return ArrayFacts::Contains{.goal = {{&use.value, true}}, .least = *least, .most = *most};
}

Result<void> contains_holds(const KeywordUse& use, Facts& facts) {
  auto read = contains(use);
  if (!read) return read.error();
  facts.array.evaluates_some = true;
  if (read->least > 0 || read->most != kUnlimited) facts.array.contains.push_back(*std::move(read));
  return {};
}

Result<void> contains_fails(const KeywordUse& use, Alternatives& cases) {
  const auto read = contains(use);
  if (!read) return read.error();
  if (read->least > 0) {
    cases.push_back(an_array());
    cases.back().array.contains.push_back({.goal = read->goal, .least = 0, .most = read->least - 1});
  }
  if (read->most != kUnlimited) {
    cases.push_back(an_array());
    cases.back().array.contains.push_back({.goal = read->goal, .least = read->most + 1});
  }
  return {};
}

Result<void> min_items_holds(const KeywordUse& use, Facts& facts) {
  const auto count = use.count();
  if (!count) return count.error();
  facts.array.least = *count;
  return {};
}

Result<void> min_items_fails(const KeywordUse& use, Alternatives& cases) {
  const auto count = use.count();
  if (!count) return count.error();
  if (*count == 0) return {};
  cases.push_back(an_array());
  cases.back().array.most = *count - 1;
  return {};
}

Result<void> max_items_holds(const KeywordUse& use, Facts& facts) {
  const auto count = use.count();
  if (!count) return count.error();
  facts.array.most = *count;
  return {};
}

Result<void> max_items_fails(const KeywordUse& use, Alternatives& cases) {
  const auto count = use.count();
  if (!count) return count.error();
  cases.push_back(an_array());
  cases.back().array.least = *count + 1;
  return {};
}

Result<void> unique_holds(const KeywordUse& use, Facts& facts) {
  if (!use.value.is_boolean()) return use.invalid("must be true or false");
  if (use.value == true) facts.array.unique = &use.schema;
  return {};
}

Result<void> unique_fails(const KeywordUse& use, Alternatives& /*cases*/) {
  if (!use.value.is_boolean()) return use.invalid("must be true or false");
  if (use.value == true) return use.unsupported("that two items are equal");
  return {};
}

constexpr Keyword kArrayKeywords[] = {
    {"prefixItems", prefix_holds, prefix_fails},
    {"items", items_hold, items_fail},
    {"additionalItems", additional_items_holds, additional_items_fails},
    {"contains", contains_holds, contains_fails},
    {"minItems", min_items_holds, min_items_fails},
    {"maxItems", max_items_holds, max_items_fails},
    {"uniqueItems", unique_holds, unique_fails},
};

}  // namespace

std::span<const Keyword> array_keywords() { return kArrayKeywords; }

}  // namespace millrace::grammar::json_schema

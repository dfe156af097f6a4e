// type, enum, const.

#include "grammar/json_schema/json_values.h"
#include "grammar/json_schema/keyword.h"

namespace millrace::grammar::json_schema {
namespace {

Types named_types(std::string_view name) {
  static const std::map<std::string_view, Types> table = {
      {"null", kNull},     {"boolean", kBoolean}, {"integer", kInteger}, {"number", kNumber},
      {"string", kString}, {"array", kArray},     {"object", kObject}};
  const auto found = table.find(name);
  return found == table.end() ? Types{0} : found->second;
}

// "nullable" is OpenAPI 3.0's way to write {"type": [..., "null"]}.
Result<Types> types(const KeywordUse& use) {
  const Json list = use.value.is_array() ? use.value : Json::array({use.value});
  Types made = 0;
  for (const Json& name : list) {
    const Types one = name.is_string() ? named_types(name.get_ref<const std::string&>()) : Types{0};
    if (one == 0) return use.invalid("must be a type of JSON (\"string\", \"integer\" ...) or a list of them");
    made |= one;
  }
  const Json* nullable = use.beside("nullable");
  return nullable != nullptr && *nullable == true ? static_cast<Types>(made | kNull) : made;
}

Result<void> type_holds(const KeywordUse& use, Facts& facts) {
  const auto read = types(use);
  if (!read) return read.error();
  facts.types &= *read;
  return {};
}

Result<void> type_fails(const KeywordUse& use, Alternatives& cases) {
  const auto read = types(use);
  if (!read) return read.error();
  Facts facts;
  facts.types = static_cast<Types>(~*read);
  cases.push_back(std::move(facts));
  return {};
}

std::vector<const Json*> listed(const KeywordUse& use) {
  if (use.name == "const") return {&use.value};
  std::vector<const Json*> values;
  for (const Json& value : use.value) values.push_back(&value);
  return values;
}

Result<void> values_hold(const KeywordUse& use, Facts& facts) {
  if (use.name == "enum" && !use.value.is_array()) return use.invalid("must be a list of values");
  Facts these;
  these.values = listed(use);
  these.types = 0;
  for (const Json* value : *these.values) these.types |= type_of(*value);
  facts = meet(facts, these);
  return {};
}

Result<void> values_fail(const KeywordUse& use, Alternatives& cases) {
  if (use.name == "enum" && !use.value.is_array()) return use.invalid("must be a list of values");
  Facts facts;
  for (const Json* value : listed(use)) {
    if (value->is_structured()) {
      if (!value->empty()) return use.unsupported("that a value is not a certain list or object");
      (value->is_array() ? facts.array.least : facts.object.least) = 1;
    } else if (value->is_number()) {
      facts.number.excluded.push_back(Decimal::of(*value));
    } else if (value->is_string()) {
      facts.string.excluded.push_back(value->get<std::string>());
    } else {
      facts.types &= static_cast<Types>(~type_of(*value));
    }
  }
  cases.push_back(std::move(facts));
  return {};
}

constexpr Keyword kValueKeywords[] = {
    {"type", type_holds, type_fails},
    {"enum", values_hold, values_fail},
    {"const", values_hold, values_fail},
};

}  // namespace

std::span<const Keyword> value_keywords() { return kValueKeywords; }

}  // namespace millrace::grammar::json_schema

#include "grammar/json_schema/document.h"

#include <algorithm>

#include "grammar/json_schema/uri.h"

namespace millrace::grammar::json_schema {
namespace {

enum class Holds { kSchema, kSchemas, kNamedSchemas };

// The keywords in which schemas stand. Elsewhere (in "enum" or "default") an "$id" is only data.
const std::map<std::string, Holds, std::less<>>& places() {
  static const std::map<std::string, Holds, std::less<>> table = {
      {"additionalItems", Holds::kSchema},
      {"additionalProperties", Holds::kSchema},
      {"items", Holds::kSchema},
      {"contains", Holds::kSchema},
      {"not", Holds::kSchema},
      {"if", Holds::kSchema},
      {"then", Holds::kSchema},
      {"else", Holds::kSchema},
      {"propertyNames", Holds::kSchema},
      {"unevaluatedItems", Holds::kSchema},
      {"unevaluatedProperties", Holds::kSchema},
      {"allOf", Holds::kSchemas},
      {"anyOf", Holds::kSchemas},
      {"oneOf", Holds::kSchemas},
      {"prefixItems", Holds::kSchemas},
      {"properties", Holds::kNamedSchemas},
      {"patternProperties", Holds::kNamedSchemas},
      {"dependentSchemas", Holds::kNamedSchemas},
      {"dependencies", Holds::kNamedSchemas},
      {"$defs", Holds::kNamedSchemas},
      {"definitions", Holds::kNamedSchemas},
  };
  return table;
}

const Json* member(const Json& schema, std::string_view name) {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(name);
  return found == schema.end() ? nullptr : &*found;
}

std::string_view string_member(const Json& schema, std::string_view name) {
  const Json* found = member(schema, name);
  return found != nullptr && found->is_string() ? std::string_view(found->get_ref<const std::string&>()) : "";
}

bool nested_deeper(const Json& root, std::size_t most) {
  std::vector<std::pair<const Json*, std::size_t>> waiting = {{&root, 0}};
  while (!waiting.empty()) {
    const auto [node, depth] = waiting.back();
    waiting.pop_back();
    if (depth > most) return true;
    if (!node->is_structured()) continue;
    for (const Json& one : *node) waiting.emplace_back(&one, depth + 1);
  }
  return false;
}

std::string pointer_token(std::string_view key) {
  std::string made;
  for (const char c : key) made += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return made;
}

bool find_path(const Json& from, const Json& wanted, std::string& path) {
  if (&from == &wanted) return true;
  if (!from.is_structured()) return false;
  const std::size_t length = path.size();
  for (const auto& [key, value] : from.items()) {
    path += "/" + pointer_token(key);
    if (find_path(value, wanted, path)) return true;
    path.resize(length);
  }
  return false;
}

// RFC 6901, from `from`.
const Json* at_pointer(const Json& from, std::string_view pointer) {
  const Json* at = &from;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    std::string token(pointer.substr(0, pointer.find('/')));
    pointer.remove_prefix(token.size());
    for (std::size_t i = 0; i + 1 < token.size(); ++i) {
      if (token[i] == '~' && (token[i + 1] == '0' || token[i + 1] == '1')) {
        token.replace(i, 2, token[i + 1] == '0' ? "~" : "/");
      }
    }
    if (at->is_object()) {
      at = member(*at, token);
    } else if (at->is_array() && !token.empty() && token.size() < 9 &&
               token.find_first_not_of("0123456789") == std::string::npos) {
      const auto index = static_cast<std::size_t>(std::stoul(token));
      at = index < at->size() ? &(*at)[index] : nullptr;
    } else {
      return nullptr;
    }
    if (at == nullptr) return nullptr;
  }
  return at;
}

}  // namespace

Result<Document> Document::read(const Json& root, const WorkLimits& limits) {
  Document made;
  made.root_ = &root;
  // A schema in a schema is two levels of JSON: {"properties": {"a": ...}}.
  if (nested_deeper(root, 2 * static_cast<std::size_t>(limits.depth))) {
    return grammar_invalid("the JSON schema is nested deeper than the limit of {} schemas", limits.depth);
  }
  const std::string_view dialect = string_member(root, "$schema");
  for (const std::string_view old : {"/draft-03/", "/draft-04/", "/draft-06/", "/draft-07/"}) {
    made.ref_stands_alone_ = made.ref_stands_alone_ || dialect.find(old) != std::string_view::npos;
  }
  made.index();
  return made;
}

void Document::index() {
  resources_.push_back({"", root_, {}});
  std::vector<std::pair<const Json*, std::size_t>> waiting = {{root_, 0}};
  while (!waiting.empty()) {
    auto [schema, resource] = waiting.back();
    waiting.pop_back();
    if (schema->is_object()) resource = enter(*schema, resource);
    resource_of_[schema] = resource;
    if (!schema->is_object()) continue;
    for (const auto& [key, value] : schema->items()) {
      const auto place = places().find(key);
      if (place == places().end()) continue;
      if (value.is_array() && (place->second == Holds::kSchemas || key == "items")) {
        for (const Json& one : value) waiting.emplace_back(&one, resource);
      } else if (value.is_object() && place->second == Holds::kNamedSchemas) {
        for (const Json& one : value) waiting.emplace_back(&one, resource);
      } else if (place->second == Holds::kSchema) {
        waiting.emplace_back(&value, resource);
      }
    }
  }
}

// Which resource the schema belongs to: a new one where it has an "$id" of its own.
std::size_t Document::enter(const Json& schema, std::size_t resource) {
  if (ref_stands_alone_ && schema.contains("$ref")) return resource;
  std::string_view id = string_member(schema, "$id");
  if (id.empty() && ref_stands_alone_) id = string_member(schema, "id");
  const auto [address, fragment] = split_fragment(id);
  if (!address.empty()) {
    const std::string whole = resolve_uri(resources_[resource].address, address);
    if (&schema == root_) {
      resources_[0].address = whole;
    } else {
      resource = resources_.size();
      resources_.push_back({whole, &schema, {}});
    }
    addresses_.emplace(whole, resource);
  }
  if (!fragment.empty()) resources_[resource].anchors.emplace(fragment, &schema);  // drafts 4 to 7
  for (const std::string_view keyword : {"$anchor", "$dynamicAnchor"}) {
    const std::string_view name = string_member(schema, keyword);
    if (name.empty()) continue;
    resources_[resource].anchors.emplace(name, &schema);
    if (keyword == "$dynamicAnchor") dynamic_anchors_.emplace(name, &schema);
  }
  const Json* recursive = member(schema, "$recursiveAnchor");
  if (recursive != nullptr && *recursive == true) recursive_anchors_.push_back(&schema);
  return resource;
}

Result<const Json*> Document::referred(const Json& schema, std::string_view keyword) const {
  auto target = resolve(schema, keyword);
  if (!target || keyword == "$ref") return target;
  if (keyword == "$recursiveRef") {
    if (recursive_anchors_.size() > 1) return unsupported(schema, keyword, "several schemas are a $recursiveAnchor");
    return target;
  }
  // A dynamic reference goes to the outermost of the anchors of that name: one alone is that.
  const std::string_view name = string_member(**target, "$dynamicAnchor");
  if (!name.empty() && dynamic_anchors_.count(name) > 1) {
    return unsupported(schema, keyword, "there are several $dynamicAnchor of that name");
  }
  return target;
}

Result<const Json*> Document::resolve(const Json& schema, std::string_view keyword) const {
  const Json& value = schema.at(std::string(keyword));
  if (!value.is_string()) return invalid(schema, keyword, "must be a string");
  const std::string& reference = value.get_ref<const std::string&>();
  const auto [address, encoded] = split_fragment(reference);
  const auto known = resource_of_.find(&schema);
  std::size_t resource = known == resource_of_.end() ? 0 : known->second;
  if (!address.empty()) {
    const auto found = addresses_.find(resolve_uri(resources_[resource].address, address));
    if (found == addresses_.end()) {
      return unsupported(schema, keyword, "\"" + reference + "\" is not in the schema, and nothing is fetched");
    }
    resource = found->second;
  }
  const std::string fragment = percent_decoded(encoded);
  const Json* target = nullptr;
  if (fragment.empty() || fragment.starts_with('/')) {
    target = at_pointer(*resources_[resource].root, fragment);
  } else if (const auto found = resources_[resource].anchors.find(fragment);
             found != resources_[resource].anchors.end()) {
    target = found->second;
  }
  if (target == nullptr) return invalid(schema, keyword, "\"" + reference + "\" leads nowhere");
  return target;
}

std::string Document::path(const Json& schema, std::string_view keyword) const {
  std::string path;
  find_path(*root_, schema, path);
  if (!keyword.empty()) path += "/" + std::string(keyword);
  return path;
}

Error Document::invalid(const Json& schema, std::string_view keyword, std::string_view what) const {
  const std::string where = path(schema, keyword);
  return grammar_invalid("JSON schema: {} {}", where.empty() ? "the schema" : where, what);
}

Error Document::unsupported(const Json& schema, std::string_view keyword, std::string_view what) const {
  return make_error(ErrorCode::kUnsupported, "grammar", "JSON schema: {} is not supported: {}", path(schema, keyword),
                    what);
}

}  // namespace millrace::grammar::json_schema

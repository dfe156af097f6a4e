#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json.h"

namespace millrace::server {

// The allowed values of a number: [low, high], or (low, high] with above_low.
struct Range {
  double low, high;
  bool above_low = false;
};

// The fields of a body that were accepted and ignored, for X-Ignored-Params: full names, such as "text.verbosity".
struct FieldNotes {
  std::vector<std::string> ignored;
  std::size_t unknown = 0;  // how many of them the schema does not know

  // Adds the name of a known field, unless it is there.
  void add(std::string name) {
    if (std::ranges::find(ignored, name) == ignored.end()) ignored.push_back(std::move(name));
  }
};

// Whether a value equals one of `values`; the order of keys does not matter. 1 and 1.0 may differ, as types must be
// equal.
bool is_one_of(const Json& value, const std::vector<Json>& values);
// Whether a value fits the members `type`, `enum` and `maxLength` (in characters) of `shape`, as far as it has them. A
// shape with maxLength must have the type string.
bool has_shape(const Json& value, const Json& shape);

// The fields of a request's body, read into a T. One entry holds everything of a field: its reader, its limits and its
// part of the OpenAPI document. A name with a dot is a member of an object: "text.format" of "text". null is the same
// as absent. A field that the server does not implement is either rejected(), or listed() where ignoring it does no
// harm. Build a schema on one thread; const functions are for any thread after that. Errors are kInvalidArgument naming
// the field, except where a function says otherwise.
template <typename T>
class Schema {
 public:
  using Set = std::function<Result<void>(T&, const Json&, FieldNotes&)>;

  // Adds a field of any kind. `shape` is its JSON Schema, for the OpenAPI document only. `set(to, value)` or
  // `set(to, value, notes)` checks and stores a value that is not null, and returns the error for a wrong one.
  template <typename Reader>
  Schema& field(std::string name, std::string about, Json shape, Reader set) {
    shape["description"] = std::move(about);
    if constexpr (std::is_invocable_v<Reader, T&, const Json&, FieldNotes&>) {
      fields_.push_back({std::move(name), std::move(shape), std::move(set)});
    } else {
      fields_.push_back({std::move(name), std::move(shape),
                         [set = std::move(set)](T& to, const Json& value, FieldNotes&) { return set(to, value); }});
    }
    return *this;
  }
  // Adds an object whose members are fields of their own. Add it before them.
  Schema& object(std::string name, std::string about) {
    return field(std::move(name), std::move(about), {{"type", {"object", "null"}}}, Set());
  }
  // Adds a field that is not implemented. Accepts null and the values in `neutral`, which ask for nothing; others are
  // kUnsupported with the reason `why`.
  Schema& rejected(const std::string& name, const std::string& why, std::vector<Json> neutral = {}) {
    Json shape = {{"enum", neutral}, {"x-not-done", "refused"}};
    shape["enum"].push_back(nullptr);
    return field(name, "Rejected: " + why, std::move(shape),
                 [name, why, neutral = std::move(neutral)](T&, const Json& value) -> Result<void> {
                   if (is_one_of(value, neutral)) return {};
                   return make_error(ErrorCode::kUnsupported, name, "{} is not supported: {}", name, why);
                 });
  }
  // Adds a field that is not implemented and harmless to ignore. A value that has the shape is accepted, and noted as
  // ignored unless it is in `neutral`. A value outside the shape's enum is kUnsupported, any other wrong one
  // kInvalidArgument. `keep` stores a noted value, for answers that repeat it.
  Schema& listed(const std::string& name, const std::string& about, Json shape, std::vector<Json> neutral = {},
                 std::function<void(T&, const Json&)> keep = {}) {
    shape["x-not-done"] = "listed";
    if (!neutral.empty()) shape["x-neutral"] = neutral;
    const Json expected = shape;
    return field(name, "Accepted and ignored: " + about, std::move(shape),
                 [name, expected, neutral = std::move(neutral), keep = std::move(keep)](
                     T& to, const Json& value, FieldNotes& notes) -> Result<void> {
                   if (is_one_of(value, neutral)) return {};
                   if (!has_shape(value, expected)) return not_of_shape(name, value, expected);
                   if (keep) keep(to, value);
                   notes.add(name);
                   return {};
                 });
  }

  // The functions from number() to string() add fields of common types. `get` returns a reference to the member of a
  // T&, or to an optional, that is set.
  template <typename Get>
  Schema& number(const std::string& name, Get get, Range range, std::string about) {
    return field(name, std::move(about), number_shape(range), [=](T& to, const Json& value) -> Result<void> {
      const auto x = read_number(name, value, range);
      if (!x) return x.error();
      get(to) = *x;
      return {};
    });
  }
  template <typename Get>
  Schema& integer(const std::string& name, Get get, std::int64_t low, std::int64_t high, std::string about) {
    return field(name, std::move(about), integer_shape(low, high), [=](T& to, const Json& value) -> Result<void> {
      const auto x = read_integer(name, value, low, high);
      if (!x) return x.error();
      using Value = std::decay_t<decltype(get(to))>;
      if constexpr (requires { typename Value::value_type; }) {
        get(to) = static_cast<typename Value::value_type>(*x);
      } else {
        get(to) = static_cast<Value>(*x);
      }
      return {};
    });
  }
  template <typename Get>
  Schema& boolean(const std::string& name, Get get, std::string about) {
    return field(name, std::move(about), nullable({{"type", "boolean"}}),
                 [=](T& to, const Json& value) -> Result<void> {
                   if (!value.is_boolean()) return wrong_type(name, "true or false");
                   get(to) = value.get<bool>();
                   return {};
                 });
  }
  // `longest` is in characters.
  template <typename Get>
  Schema& string(const std::string& name, Get get, std::size_t longest, std::string about) {
    return field(name, std::move(about), nullable({{"type", "string"}, {"maxLength", longest}}),
                 [=](T& to, const Json& value) -> Result<void> {
                   if (!value.is_string()) return wrong_type(name, "a string");
                   const auto& text = value.get_ref<const std::string&>();
                   if (const std::size_t n = characters(text); n > longest) return too_long(name, n, longest);
                   get(to) = text;
                   return {};
                 });
  }
  // Marks a field, added before or later, as required: absent or null, it is an error.
  Schema& required(std::string name) {
    required_.push_back(std::move(name));
    return *this;
  }

  // Reads all fields of `body` into `to`. Adds to `notes` the names of ignored fields, known and unknown. On an error,
  // `to` may be partly set.
  Result<void> read(const Json& body, T& to, FieldNotes& notes) const {
    if (!body.is_object()) return make_error(ErrorCode::kInvalidArgument, "body", "the body must be a JSON object");
    return read_members(body, "", to, notes);
  }

  // The fields as JSON Schema, for the OpenAPI document.
  Json json() const {
    Json out = {{"type", "object"}, {"properties", Json::object()}};
    for (const Field& known : fields_) {
      Json* in = &out;
      std::string_view name = known.name;
      for (std::size_t dot = name.find('.'); dot != name.npos; dot = name.find('.')) {
        in = &(*in)["properties"][std::string(name.substr(0, dot))];
        name.remove_prefix(dot + 1);
      }
      const bool needed = std::ranges::find(required_, known.name) != required_.end();
      (*in)["properties"][std::string(name)] = needed ? known.shape : nullable(known.shape);
      if (needed) (*in)["required"].push_back(name);
    }
    return out;
  }

  static Result<double> read_number(const std::string& name, const Json& value, Range range) {
    if (!value.is_number()) return wrong_type(name, "a number");
    const double x = value.get<double>();
    if (x <= range.high && x >= range.low && !(range.above_low && x == range.low)) return x;
    return make_error(ErrorCode::kInvalidArgument, name, "{} is {}: expected {} {} to {}", name, x,
                      range.above_low ? "more than" : "from", range.low, range.high);
  }
  static Result<std::int64_t> read_integer(const std::string& name, const Json& value, std::int64_t low,
                                           std::int64_t high) {
    const auto x = whole(value);
    if (!x) return wrong_type(name, "an integer");
    if (*x >= low && *x <= high) return *x;
    return make_error(ErrorCode::kInvalidArgument, name, "{} is {}: expected {} to {}", name, *x, low, high);
  }
  static Json number_shape(Range range) {
    return nullable(
        {{"type", "number"}, {"maximum", range.high}, {range.above_low ? "exclusiveMinimum" : "minimum", range.low}});
  }
  static Json integer_shape(std::int64_t low, std::int64_t high) {
    return nullable({{"type", "integer"}, {"minimum", low}, {"maximum", high}});
  }

  static Error wrong_type(const std::string& name, std::string_view expected) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} must be {}", name, expected);
  }
  // The value as an integer; 3 and 3.0 are alike, as in JSON Schema. Nothing for other types, for fractions, and for
  // numbers that are no std::int64_t; of floating point for those from about 2^62 on.
  static std::optional<std::int64_t> whole(const Json& value) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > kMax) return std::nullopt;
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_number_float()) return std::nullopt;
    const double x = value.get<double>();
    if (!(std::abs(x) < 4.6e18) || x != std::floor(x)) return std::nullopt;
    return static_cast<std::int64_t>(x);
  }

 private:
  struct Field {
    std::string name;
    Json shape;
    Set set;  // empty: an object whose members are fields
  };
  // `path` is the name of `object` and a dot; "" for the body.
  Result<void> read_members(const Json& object, const std::string& path, T& to, FieldNotes& notes) const {
    for (const std::string& name : required_) {
      if (name.rfind('.') + 1 != path.size() || !name.starts_with(path)) continue;
      const auto it = object.find(name.substr(path.size()));
      if (it == object.end() || it->is_null()) {
        return make_error(ErrorCode::kInvalidArgument, name, "{} is required", name);
      }
    }
    for (const auto& [key, value] : object.items()) {
      const std::string name = path + key;
      const Field* known = key.find('.') == std::string::npos ? find(name) : nullptr;
      if (known == nullptr) {
        notes.ignored.push_back(name);
        ++notes.unknown;
      } else if (!value.is_null()) {
        if (!known->set && !value.is_object()) return wrong_type(name, "an object");
        if (auto set = known->set ? known->set(to, value, notes) : read_members(value, name + ".", to, notes); !set) {
          return set;
        }
      }
    }
    return {};
  }
  static Error too_long(const std::string& name, std::size_t length, std::size_t limit) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} has {} characters: the limit is {}", name, length, limit);
  }
  static Error not_of_shape(const std::string& name, const Json& value, const Json& shape) {
    if (shape.contains("enum")) {
      return make_error(ErrorCode::kUnsupported, name, "{} is not supported: expected one of {}", name,
                        dumped(shape["enum"]));
    }
    if (value.is_string() && shape.contains("maxLength")) {
      return too_long(name, characters(value.get_ref<const std::string&>()),
                      shape["maxLength"].template get<std::size_t>());
    }
    return wrong_type(name, fmt::format("of type {}", dumped(shape["type"])));
  }
  static Json nullable(Json shape) {
    const Json null_type = {{"type", "null"}};
    if (shape.contains("enum")) {
      if (std::ranges::find(shape["enum"], Json()) == shape["enum"].end()) shape["enum"].push_back(nullptr);
    } else if (shape.contains("anyOf")) {
      if (std::ranges::find(shape["anyOf"], null_type) == shape["anyOf"].end()) shape["anyOf"].push_back(null_type);
    } else if (shape.contains("type")) {
      Json types = shape["type"].is_array() ? shape["type"] : Json::array({shape["type"]});
      if (std::ranges::find(types, Json("null")) == types.end()) types.push_back("null");
      shape["type"] = std::move(types);
    }
    return shape;
  }
  const Field* find(std::string_view name) const {
    for (const Field& known : fields_) {
      if (known.name == name) return &known;
    }
    return nullptr;
  }
  std::vector<Field> fields_;
  std::vector<std::string> required_;
};

}  // namespace millrace::server

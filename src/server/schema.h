#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/json.h"

namespace millrace::server {

struct Range {
  double low, high;
  bool above_low = false;  // low itself is outside
};

// The fields of a request's body: what reads them, what bounds them and what the OpenAPI document says of them is one
// entry. null is the same as absent, as clients send it. Immutable once built.
template <typename T>
class Schema {
 public:
  using Set = std::function<Result<void>(T&, const Json&)>;

  // Any field: `shape` is its JSON Schema, `set` reads a value that is not null and says what is wrong with it.
  Schema& field(std::string name, std::string about, Json shape, Set set) {
    shape["description"] = std::move(about);
    fields_.push_back({std::move(name), std::move(shape), std::move(set)});
    return *this;
  }
  // Taken and of no effect, as clients send it to everybody.
  Schema& ignored(std::string name, std::string about) {
    return field(std::move(name), std::move(about), Json::object(), [](T&, const Json&) { return Result<void>(); });
  }

  // `get` gives the double (or optional) of a T& to be set; and so on.
  template <typename Get>
  Schema& number(const std::string& name, Get get, Range range, std::string about) {
    Json shape = {
        {"type", "number"}, {"maximum", range.high}, {range.above_low ? "exclusiveMinimum" : "minimum", range.low}};
    return field(name, std::move(about), nullable(std::move(shape)), [=](T& to, const Json& value) -> Result<void> {
      if (!value.is_number()) return wrong_type(name, "a number");
      const double x = value.get<double>();
      if (!(x <= range.high) || x < range.low || (range.above_low && x == range.low)) {
        return make_error(ErrorCode::kInvalidArgument, name, "{} is {}: expected {} {} to {}", name, x,
                          range.above_low ? "more than" : "from", range.low, range.high);
      }
      get(to) = x;
      return {};
    });
  }
  template <typename Get>
  Schema& integer(const std::string& name, Get get, std::int64_t low, std::int64_t high, std::string about) {
    Json shape = {{"type", "integer"}, {"minimum", low}, {"maximum", high}};
    return field(name, std::move(about), nullable(std::move(shape)), [=](T& to, const Json& value) -> Result<void> {
      const auto x = whole(value);
      if (!x) return wrong_type(name, "an integer");
      if (*x < low || *x > high) {
        return make_error(ErrorCode::kInvalidArgument, name, "{} is {}: expected {} to {}", name, *x, low, high);
      }
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
  template <typename Get>
  Schema& string(const std::string& name, Get get, std::size_t longest, std::string about) {
    return field(name, std::move(about), nullable({{"type", "string"}, {"maxLength", longest}}),
                 [=](T& to, const Json& value) -> Result<void> {
                   if (!value.is_string()) return wrong_type(name, "a string");
                   const auto& text = value.get_ref<const std::string&>();
                   if (const std::size_t n = characters(text); n > longest) {
                     return make_error(ErrorCode::kInvalidArgument, name, "{} has {} characters: the limit is {}", name,
                                       n, longest);
                   }
                   get(to) = text;
                   return {};
                 });
  }
  Schema& required(std::string name) {
    required_.push_back(std::move(name));
    return *this;
  }

  // Reads all fields; names that nobody knows are added to `unknown`.
  Result<void> read(const Json& body, T& to, std::vector<std::string>& unknown) const {
    if (!body.is_object()) return make_error(ErrorCode::kInvalidArgument, "body", "the body must be a JSON object");
    for (const std::string& name : required_) {
      const auto it = body.find(name);
      if (it == body.end() || it->is_null()) {
        return make_error(ErrorCode::kInvalidArgument, name, "{} is required", name);
      }
    }
    for (const auto& [key, value] : body.items()) {
      const Field* known = find(key);
      if (known == nullptr) {
        unknown.push_back(key);
      } else if (!value.is_null()) {
        if (auto set = known->set(to, value); !set) return set;
      }
    }
    return {};
  }

  // As JSON Schema, for the OpenAPI document.
  Json json() const {
    Json properties = Json::object();
    for (const Field& known : fields_) {
      const bool needed = std::ranges::find(required_, known.name) != required_.end();
      properties[known.name] = needed ? known.shape : nullable(known.shape);
    }
    Json out = {{"type", "object"}, {"properties", std::move(properties)}};
    if (!required_.empty()) out["required"] = required_;
    return out;
  }

  static Error wrong_type(const std::string& name, std::string_view expected) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} must be {}", name, expected);
  }
  // 3 and 3.0 alike, as JSON Schema has it; nothing for what is no integer of 64 bits.
  static std::optional<std::int64_t> whole(const Json& value) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > std::uint64_t{1} << 62) return std::nullopt;
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
    Set set;
  };
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

#include "grammar/structural_tag/format_fields.h"

#include <fmt/format.h>

namespace millrace::grammar {

void FormatErrors::add(ErrorCode code, const std::string& pointer, std::string_view message) {
  if (!first_)
    first_ = make_error(code, "grammar", "{}: {}", pointer.empty() ? "the structural tag" : pointer, message);
}

void FormatErrors::unsupported(const std::string& pointer, std::string_view what) {
  add(ErrorCode::kUnsupported, pointer, fmt::format("{} is not supported", what));
}

FormatFields::FormatFields(const Json& value, std::string pointer, FormatErrors& errors)
    : value_(value.is_object() ? &value : nullptr), pointer_(std::move(pointer)), errors_(errors) {
  if (value_ == nullptr) errors_.invalid(pointer_, "must be an object");
}

const Json* FormatFields::optional(std::string_view name) {
  asked_.emplace(name);
  if (value_ == nullptr || errors_.any()) return nullptr;
  const auto found = value_->find(name);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

const Json* FormatFields::require(std::string_view name) {
  const Json* found = optional(name);
  if (found == nullptr) errors_.invalid(at(name), "is missing");
  return found;
}

std::string FormatFields::string(std::string_view name) {
  const Json* found = require(name);
  if (found == nullptr) return {};
  if (!found->is_string()) {
    errors_.invalid(at(name), "must be a string");
    return {};
  }
  return found->get<std::string>();
}

bool FormatFields::boolean(std::string_view name) {
  const Json* found = optional(name);
  if (found == nullptr) return false;
  if (!found->is_boolean()) errors_.invalid(at(name), "must be true or false");
  return found->is_boolean() && found->get<bool>();
}

std::optional<std::int64_t> FormatFields::integer(std::string_view name) {
  const Json* found = optional(name);
  if (found == nullptr) return std::nullopt;
  // What does not fit 64 bits signed is unsigned or a float to the parser.
  const bool fits = found->is_number_integer() && !(found->is_number_unsigned() && found->get<std::uint64_t>() >> 63);
  if (!fits) errors_.invalid(at(name), "must be an integer");
  return fits ? std::optional(found->get<std::int64_t>()) : std::nullopt;
}

std::vector<const Json*> FormatFields::list(std::string_view name, std::size_t least) {
  const Json* found = least > 0 ? require(name) : optional(name);
  std::vector<const Json*> out;
  if (found == nullptr) return out;
  if (!found->is_array()) {
    errors_.invalid(at(name), "must be a list");
    return out;
  }
  for (const Json& one : *found) out.push_back(&one);
  if (out.size() < least) errors_.invalid(at(name), fmt::format("must have at least {}", least));
  return out;
}

std::vector<std::string> FormatFields::strings(std::string_view name, std::size_t least) {
  std::vector<std::string> out;
  for (const Json* one : list(name, least)) {
    if (!one->is_string() || one->get_ref<const std::string&>().empty()) {
      errors_.invalid(fmt::format("{}/{}", at(name), out.size()), "must be a string that is not empty");
      return {};
    }
    out.push_back(one->get<std::string>());
  }
  return out;
}

void FormatFields::close() {
  if (value_ == nullptr || errors_.any()) return;
  for (const auto& [name, value] : value_->items()) {
    if (!asked_.contains(name)) return errors_.invalid(at(name), "is not known here");
  }
}

}  // namespace millrace::grammar

#include "chat/jinja/arguments.h"

#include <algorithm>
#include <limits>

namespace millrace::chat::jinja {

std::int64_t clamp_integer(Integer value) {
  if (value > std::numeric_limits<std::int64_t>::max()) return std::numeric_limits<std::int64_t>::max();
  if (value < std::numeric_limits<std::int64_t>::min()) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(value);
}

BoundArguments::BoundArguments(std::string_view callee, const Arguments& arguments,
                               std::initializer_list<std::string_view> names, std::size_t required)
    : callee_(callee), names_(names), values_(names.size(), nullptr) {
  if (arguments.positional.size() > names_.size()) {
    fail("{}() takes at most {} arguments ({} given)", callee, names_.size(), arguments.positional.size());
  }
  for (std::size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(names_.begin(), names_.end(), name.view());
    if (found == names_.end()) fail("{}() got an unexpected keyword argument '{}'", callee, name.view());
    const Value*& slot = values_[static_cast<std::size_t>(found - names_.begin())];
    if (slot) fail("{}() got multiple values for argument '{}'", callee, name.view());
    slot = &value;
  }
  for (std::size_t i = 0; i < required; ++i) {
    if (!values_[i]) fail("{}() missing the argument '{}'", callee, names_[i]);
  }
}

std::int64_t BoundArguments::integer(std::size_t i, std::int64_t fallback) const {
  if (!values_[i]) return fallback;
  const auto value = values_[i]->as_integer();
  if (!value) fail("{}(): argument '{}' must be int, not {}", callee_, names_[i], values_[i]->type_name());
  return clamp_integer(*value);
}

const Text& BoundArguments::text(std::size_t i) const {
  const Text* text = values_[i]->text();
  if (!text) fail("{}(): argument '{}' must be str, not {}", callee_, names_[i], values_[i]->type_name());
  return *text;
}

}  // namespace millrace::chat::jinja

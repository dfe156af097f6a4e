#include "base/option_spec.h"

#include <fmt/core.h>

#include <algorithm>

namespace millrace {

bool OptionSpec::in_range(double value) const noexcept {
  if (kind == Kind::kSwitch) return value == 0.0 || value == 1.0;
  return value <= high && (above_low ? value > low : value >= low);
}

std::string OptionSpec::range() const {
  if (!rule.empty()) return std::string(rule);
  return above_low ? fmt::format("above {} and at most {}", low, high) : fmt::format("between {} and {}", low, high);
}

std::string OptionSpec::flag_names() const {
  if (!flags.empty()) return std::string(flags);
  std::string flag = "--" + std::string(name);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

std::string OptionSpec::flag_name() const {
  const std::string all = flag_names();
  return all.substr(2, all.find(',') - 2);
}

Result<void> OptionSpec::check(std::string_view field, double value) const {
  if (in_range(value)) return {};
  return make_error(ErrorCode::kInvalidArgument, std::string(field), "{} is {}: must be {}", field, value, range());
}

OptionValues& OptionValues::set(std::string_view name, double value) {
  values_.insert_or_assign(std::string(name), value);
  return *this;
}

OptionValues& OptionValues::set(std::string_view name, std::string value) {
  values_.insert_or_assign(std::string(name), std::move(value));
  return *this;
}

std::optional<double> OptionValues::find(std::string_view name) const {
  const auto found = values_.find(name);
  const double* value = found == values_.end() ? nullptr : std::get_if<double>(&found->second);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

double OptionValues::number(const OptionSpec& option) const { return find(option.name).value_or(option.neutral); }

std::string OptionValues::text(const OptionSpec& option) const {
  const auto found = values_.find(option.name);
  return found == values_.end() ? std::string() : std::get<std::string>(found->second);
}

Result<void> OptionValues::check(std::span<const OptionSpec> options) const {
  for (const OptionSpec& option : options) {
    if (option.kind == OptionSpec::Kind::kText) continue;
    if (auto good = option.check(option.flag_name(), number(option)); !good) return good;
  }
  return {};
}

}  // namespace millrace

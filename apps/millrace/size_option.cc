#include "size_option.h"

#include <fmt/core.h>

#include <charconv>
#include <cmath>

#include "base/lower_case.h"
#include "cli.h"

namespace millrace::app {
namespace {

constexpr std::string_view kUnits = "bkmgt";  // powers of 1024

std::uint64_t bytes_of(std::size_t unit) { return std::uint64_t{1} << (10 * unit); }

Error wrong(std::string_view text, std::string_view why) {
  return make_error(ErrorCode::kInvalidArgument, "size", "'{}' {}", text, why);
}

}  // namespace

Result<std::uint64_t> parse_size(std::string_view text) {
  double number = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !(number >= 0.0) || !std::isfinite(number)) {
    return wrong(text, "is no size: a number with a unit is expected, e.g. 512MiB or 4GiB; 0 needs no unit");
  }
  std::string unit = lower_case(text.substr(static_cast<std::size_t>(end - text.data())));
  unit.erase(0, unit.find_first_not_of(' '));
  if (unit.empty()) {
    if (number == 0.0) return std::uint64_t{0};
    return wrong(text, fmt::format("has no unit: write {0}GiB, {0}MiB or {0}B", number));
  }
  const std::size_t power = kUnits.find(unit.front());
  const std::string_view rest = std::string_view(unit).substr(1);
  if (power == std::string_view::npos || !(rest.empty() || (power > 0 && (rest == "b" || rest == "ib")))) {
    return wrong(text,
                 "has an unknown unit: B, kB, MB, GB or TB is expected, or KiB, MiB, GiB or TiB, which mean the same");
  }
  const double bytes = number * static_cast<double>(bytes_of(power));
  if (bytes >= 0x1p62) return wrong(text, "is too large: less than 4194304TiB is expected");
  return static_cast<std::uint64_t>(bytes);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  constexpr const char* kNames[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = kUnits.size() - 1;
  while (bytes % bytes_of(unit) != 0) --unit;
  return fmt::format("{}{}", bytes / bytes_of(unit), kNames[unit]);
}

CLI::Option* add_size_option(CLI::App& app, const std::string& names, std::uint64_t value,
                             std::function<void(std::uint64_t)> set, const std::string& help) {
  const CLI::Validator is_size(
      [](const std::string& text) {
        const auto size = parse_size(text);
        return size ? std::string() : size.error().message;
      },
      "");
  return app
      .add_option_function<std::string>(
          names, [set = std::move(set)](const std::string& text) { set(parse_size(text).or_throw()); }, help)
      ->type_name("SIZE")
      ->check(is_size)
      ->default_str(size_text(value));
}

}  // namespace millrace::app

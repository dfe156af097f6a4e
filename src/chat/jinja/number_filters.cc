#include <cmath>
#include <cstdio>
#include <string>

#include "chat/jinja/arguments.h"
#include "chat/jinja/arithmetic.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/number_parse.h"

namespace millrace::chat::jinja {
namespace {

Value abs_filter(Runtime&, const Value& input, Arguments& arguments) {
  expect_no_arguments("abs", arguments);
  if (const double* r = input.real()) return std::fabs(*r);
  if (const auto i = input.as_integer()) return *i < 0 ? negate(*i) : Value(*i);
  if (input.is_undefined()) fail("{}", input.undefined_reason());
  fail("bad operand type for abs(): '{}'", input.type_name());
}

std::optional<Integer> truncated(double value) {
  if (std::isnan(value)) return std::nullopt;
  if (std::fabs(value) > 1e38) fail("cannot convert float infinity or beyond 128 bits to integer");
  return static_cast<Integer>(value);
}

Value int_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("int", arguments, {"default", "base"});
  if (input.is_undefined()) fail("{}", input.undefined_reason());
  std::optional<Integer> value;
  if (const Text* text = input.text()) {
    runtime.budget.scan(text->size());
    const std::int64_t base = args.integer(1, 10);
    if (base == 0 || (base >= 2 && base <= 36)) value = parse_integer(text->view(), static_cast<int>(base));
    if (!value) {
      const auto real = parse_real(text->view());
      if (real && std::isfinite(*real)) value = truncated(*real);
    }
  } else if (const double* r = input.real()) {
    value = truncated(*r);
  } else {
    value = input.as_integer();
  }
  return value ? Value(*value) : args.value(0, 0);
}

Value float_filter(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("float", arguments, {"default"});
  if (input.is_undefined()) fail("{}", input.undefined_reason());
  if (input.is_number()) return input.as_real();
  std::optional<double> value;
  if (const Text* text = input.text()) {
    runtime.budget.scan(text->size());
    value = parse_real(text->view());
  }
  return value ? Value(*value) : args.value(0, 0.0);
}

// Half to even on the exact binary value, as Python's round().
double round_real(double value, std::int64_t precision) {
  if (!std::isfinite(value) || precision > 330) return value;
  if (precision < -330) return std::copysign(0.0, value);
  if (precision >= 0) {
    char buffer[700];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(precision), value);
    return std::stod(buffer);
  }
  const double scale = std::pow(10.0, static_cast<double>(-precision));
  return std::nearbyint(value / scale) * scale;
}

Value round_integer(Integer value, std::int64_t precision) {
  if (precision >= 0) return value;
  if (precision < -37) return 0;
  Integer scale = 1;
  for (std::int64_t i = precision; i < 0; ++i) scale *= 10;
  const Integer rest = ((value % scale) + scale) % scale;
  Integer down;
  if (__builtin_sub_overflow(value, rest, &down)) fail("integer result does not fit 128 bits");
  const bool up = rest * 2 > scale || (rest * 2 == scale && (down / scale) % 2 != 0);
  if (up && __builtin_add_overflow(down, scale, &down)) fail("integer result does not fit 128 bits");
  return down;
}

Value round_filter(Runtime&, const Value& input, Arguments& arguments) {
  const BoundArguments args("round", arguments, {"precision", "method"});
  const std::string method(args.has(1) ? args.text(1).view() : "common");
  if (method != "common" && method != "ceil" && method != "floor") fail("round: method must be common, ceil or floor");
  if (input.is_undefined()) fail("{}", input.undefined_reason());
  if (!input.is_number()) fail("round needs a number, not '{}'", input.type_name());
  const std::int64_t precision = args.integer(0, 0);
  if (method == "common") {
    if (const double* r = input.real()) return round_real(*r, precision);
    return round_integer(*input.as_integer(), precision);
  }
  const double scale = std::pow(10.0, static_cast<double>(precision));
  const double scaled = input.as_real() * scale;
  if (!std::isfinite(scaled)) fail("cannot convert float infinity to integer");
  return (method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale;
}

// As Jinja spells it: "1 Byte", "999 Bytes", "1.5 kB", "1.0 KiB".
Value file_size_format(Runtime& runtime, const Value& input, Arguments& arguments) {
  const BoundArguments args("filesizeformat", arguments, {"binary"});
  static constexpr double kNextDecimal[] = {1e6, 1e9, 1e12, 1e15, 1e18, 1e21, 1e24, 1e27};
  static constexpr double kNextBinary[] = {0x1p20, 0x1p30, 0x1p40, 0x1p50, 0x1p60, 0x1p70, 0x1p80, 0x1p90};
  const bool binary = args.truth(0, false);
  std::optional<double> bytes;
  if (const Text* text = input.text()) {
    runtime.budget.scan(text->size());
    bytes = parse_real(text->view());
  } else if (input.is_number()) {
    bytes = input.as_real();
  }
  if (!bytes) fail("filesizeformat needs a number, not '{}'", input.type_name());
  const double base = binary ? 1024 : 1000;
  if (*bytes == 1) return Text("1 Byte", false);
  if (*bytes < base) {
    if (std::isinf(*bytes)) fail("cannot convert float infinity to integer");
    return Text(fmt::format("{:.0f} Bytes", std::trunc(*bytes) + 0.0), false);
  }
  std::size_t unit = 0;
  const double* next = binary ? kNextBinary : kNextDecimal;
  while (unit < 7 && !(*bytes < next[unit])) ++unit;
  const char prefix = std::string_view(binary ? "KMGTPEZY" : "kMGTPEZY")[unit];
  return Text(fmt::format("{:.1f} {}{}", base * *bytes / next[unit], prefix, binary ? "iB" : "B"), false);
}

}  // namespace

std::span<const Filter> number_filters() {
  static constexpr Filter kTable[] = {
      {"abs", abs_filter},     {"filesizeformat", file_size_format}, {"float", float_filter}, {"int", int_filter},
      {"round", round_filter},
  };
  return kTable;
}

}  // namespace millrace::chat::jinja

#include "chat/jinja/arithmetic.h"

#include <cmath>

#include "chat/jinja/arguments.h"
#include "chat/jinja/printf_format.h"
#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {
namespace {

std::string_view sign_of(Operator op) {
  constexpr std::string_view kSigns[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};
  return kSigns[static_cast<std::size_t>(op)];
}

[[noreturn]] void overflow() { fail("integer result does not fit 128 bits"); }

Integer floor_divide(Integer a, Integer b) {
  if (b == -1) {
    Integer out;
    if (__builtin_sub_overflow(Integer(0), a, &out)) overflow();
    return out;
  }
  const Integer quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

Integer modulo(Integer a, Integer b) {
  if (b == -1) return 0;
  const Integer rest = a % b;
  return rest != 0 && ((rest < 0) != (b < 0)) ? rest + b : rest;
}

Value integer_power(Integer base, Integer exponent) {
  if (exponent < 0) {
    if (base == 0) fail("0.0 cannot be raised to a negative power");
    return std::pow(static_cast<double>(base), static_cast<double>(exponent));
  }
  Integer result = 1;
  if (base == 1 || exponent == 0) return result;
  if (base == 0) return Integer(0);
  if (base == -1) return Integer(exponent % 2 == 0 ? 1 : -1);
  for (; exponent > 0; --exponent) {  // at most 127 rounds before |base| >= 2 overflows
    if (__builtin_mul_overflow(result, base, &result)) overflow();
  }
  return result;
}

Value integer_result(Operator op, Integer a, Integer b) {
  Integer out = 0;
  bool bad = false;
  switch (op) {
    case Operator::kAdd: bad = __builtin_add_overflow(a, b, &out); break;
    case Operator::kSubtract: bad = __builtin_sub_overflow(a, b, &out); break;
    case Operator::kMultiply: bad = __builtin_mul_overflow(a, b, &out); break;
    case Operator::kPower: return integer_power(a, b);
    default:
      if (b == 0) fail("division by zero");
      if (op == Operator::kDivide) return static_cast<double>(a) / static_cast<double>(b);
      out = op == Operator::kModulo ? modulo(a, b) : floor_divide(a, b);
  }
  if (bad) overflow();
  return out;
}

double python_fmod(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}

Value real_power(double a, double b) {
  if (a == 0 && b < 0) fail("0.0 cannot be raised to a negative power");
  if (a < 0 && b != std::floor(b) && !std::isinf(b)) fail("a negative number cannot be raised to a fractional power");
  const double out = std::pow(a, b);
  if (std::isinf(out) && !std::isinf(a) && !std::isinf(b)) fail("numerical result out of range");
  return out;
}

Value real_result(Operator op, double a, double b) {
  switch (op) {
    case Operator::kAdd: return a + b;
    case Operator::kSubtract: return a - b;
    case Operator::kMultiply: return a * b;
    case Operator::kPower: return real_power(a, b);
    default: break;
  }
  if (b == 0) fail("float division by zero");
  if (op == Operator::kDivide) return a / b;
  const double rest = python_fmod(a, b);
  if (op == Operator::kModulo) return rest;
  const double quotient = (a - rest) / b;
  return quotient == 0 ? std::copysign(0.0, a / b) : std::floor(quotient + 0.5);
}

Value add_lists(Budget& budget, const List& a, const List& b) {
  std::vector<Value> items(a.items);
  items.insert(items.end(), b.items.begin(), b.items.end());
  return make_list(budget, std::move(items), a.is_tuple() ? ListKind::kTuple : ListKind::kList);
}

Value repeat_list(Budget& budget, const List& list, Integer count) {
  std::vector<Value> items;
  const std::int64_t times = list.items.empty() ? 0 : clamp_integer(count);
  for (std::int64_t i = 0; i < times; ++i) {
    budget.step(static_cast<std::int64_t>(list.items.size()));
    items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return make_list(budget, std::move(items), list.is_tuple() ? ListKind::kTuple : ListKind::kList);
}

bool can_concatenate(const List* a, const List* b) {
  if (!a || !b) return false;
  return (a->is_tuple() && b->is_tuple()) || (a->kind == ListKind::kList && b->kind == ListKind::kList);
}

std::optional<Value> sequence_result(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  if (op == Operator::kAdd) {
    if (a.text() && b.text()) return concatenate(runtime.budget, *a.text(), *b.text());
    if (can_concatenate(a.list(), b.list())) return add_lists(runtime.budget, *a.list(), *b.list());
  }
  if (op == Operator::kModulo && a.text()) return printf_format(runtime, *a.text(), b);
  if (op == Operator::kMultiply) {
    const bool left = a.text() || a.list();
    const Value& sequence = left ? a : b;
    const auto count = (left ? b : a).as_integer();
    if (!count) return std::nullopt;
    if (sequence.text()) return repeat(runtime.budget, *sequence.text(), clamp_integer(*count));
    const List* list = sequence.list();
    if (list && (list->is_tuple() || list->kind == ListKind::kList)) return repeat_list(runtime.budget, *list, *count);
  }
  return std::nullopt;
}

}  // namespace

Value apply(Runtime& runtime, Operator op, const Value& a, const Value& b) {
  if (a.is_number() && b.is_number()) {
    const auto x = a.as_integer(), y = b.as_integer();
    if (x && y) return integer_result(op, *x, *y);
    return real_result(op, a.as_real(), b.as_real());
  }
  if (a.is_undefined()) fail("{}", a.undefined_reason());
  if (b.is_undefined() && !(op == Operator::kModulo && a.text())) fail("{}", b.undefined_reason());
  if (auto value = sequence_result(runtime, op, a, b)) return *std::move(value);
  fail("unsupported operand type(s) for {}: '{}' and '{}'", sign_of(op), a.type_name(), b.type_name());
}

Value negate(const Value& value) {
  if (const double* r = value.real()) return -*r;
  if (const auto i = value.as_integer()) return integer_result(Operator::kSubtract, 0, *i);
  if (value.is_undefined()) fail("{}", value.undefined_reason());
  fail("bad operand type for unary -: '{}'", value.type_name());
}

Value plus(const Value& value) {
  if (value.real()) return value;
  if (const auto i = value.as_integer()) return *i;
  if (value.is_undefined()) fail("{}", value.undefined_reason());
  fail("bad operand type for unary +: '{}'", value.type_name());
}

}  // namespace millrace::chat::jinja

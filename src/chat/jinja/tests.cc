#include <algorithm>
#include <cmath>

#include "chat/jinja/arguments.h"
#include "chat/jinja/arithmetic.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/compare.h"
#include "chat/jinja/repr.h"
#include "chat/jinja/text_ops.h"

namespace millrace::chat::jinja {
namespace {

// A test of the value alone, from an expression of `input`.
#define MILLRACE_JINJA_TEST(name, expression)                                                               \
  bool name([[maybe_unused]] Runtime& runtime, [[maybe_unused]] const Value& input, Arguments& arguments) { \
    expect_no_arguments(#name, arguments);                                                                  \
    return expression;                                                                                      \
  }

MILLRACE_JINJA_TEST(defined, !input.is_undefined())
MILLRACE_JINJA_TEST(undefined, input.is_undefined())
MILLRACE_JINJA_TEST(none, input.is_none())
MILLRACE_JINJA_TEST(boolean, input.boolean() != nullptr)
MILLRACE_JINJA_TEST(is_true, input.boolean() && *input.boolean())
MILLRACE_JINJA_TEST(is_false, input.boolean() && !*input.boolean())
MILLRACE_JINJA_TEST(integer, input.integer() != nullptr)
MILLRACE_JINJA_TEST(real, input.real() != nullptr)
MILLRACE_JINJA_TEST(number, input.is_number())
MILLRACE_JINJA_TEST(string, input.text() != nullptr)
MILLRACE_JINJA_TEST(mapping, input.dict() != nullptr)
MILLRACE_JINJA_TEST(callable, input.is_callable())
MILLRACE_JINJA_TEST(escaped, false)
MILLRACE_JINJA_TEST(lower, is_all_lower(runtime.budget, to_text(runtime, input)))
MILLRACE_JINJA_TEST(upper, is_all_upper(runtime.budget, to_text(runtime, input)))
MILLRACE_JINJA_TEST(sequence,
                    input.text() || input.dict() || input.is_undefined() || (input.list() && !input.list()->is_view()))
MILLRACE_JINJA_TEST(iterable, input.text() || input.dict() || input.is_undefined() || input.list() ||
                                  dynamic_cast<Iterator*>(input.object()))
MILLRACE_JINJA_TEST(filter, input.text() && find_filter(input.text()->view()))
MILLRACE_JINJA_TEST(test, input.text() && find_test(input.text()->view()))
#undef MILLRACE_JINJA_TEST

const Value& other(std::string_view name, const Arguments& arguments) {
  return BoundArguments(name, arguments, {"other"}, 1)[0];
}

bool equal(Runtime& runtime, const Value& input, Arguments& arguments) {
  return equals(runtime.budget, input, other("eq", arguments));
}
bool not_equal(Runtime& runtime, const Value& input, Arguments& arguments) {
  return !equals(runtime.budget, input, other("ne", arguments));
}
bool less_than(Runtime& runtime, const Value& input, Arguments& arguments) {
  return less(runtime.budget, input, other("lt", arguments));
}
bool at_most(Runtime& runtime, const Value& input, Arguments& arguments) {
  return less_equal(runtime.budget, input, other("le", arguments));
}
bool greater_than(Runtime& runtime, const Value& input, Arguments& arguments) {
  return less(runtime.budget, other("gt", arguments), input, ">");
}
bool at_least(Runtime& runtime, const Value& input, Arguments& arguments) {
  return less_equal(runtime.budget, other("ge", arguments), input, ">=");
}
bool in(Runtime& runtime, const Value& input, Arguments& arguments) {
  return contains(runtime, other("in", arguments), input);
}
bool same_as(Runtime&, const Value& input, Arguments& arguments) { return input.same_as(other("sameas", arguments)); }

bool has_remainder(Runtime& runtime, const Value& input, const Value& divisor, int remainder) {
  return equals(runtime.budget, apply(runtime, Operator::kModulo, input, divisor), remainder);
}
bool divisible_by(Runtime& runtime, const Value& input, Arguments& arguments) {
  return has_remainder(runtime, input, other("divisibleby", arguments), 0);
}
bool even(Runtime& runtime, const Value& input, Arguments&) { return has_remainder(runtime, input, 2, 0); }
bool odd(Runtime& runtime, const Value& input, Arguments&) { return has_remainder(runtime, input, 2, 1); }

constexpr Test kTests[] = {
    {"!=", not_equal},
    {"<", less_than},
    {"<=", at_most},
    {"==", equal},
    {">", greater_than},
    {">=", at_least},
    {"boolean", boolean},
    {"callable", callable},
    {"defined", defined},
    {"divisibleby", divisible_by},
    {"eq", equal},
    {"equalto", equal},
    {"escaped", escaped},
    {"even", even},
    {"false", is_false},
    {"filter", filter},
    {"float", real},
    {"ge", at_least},
    {"greaterthan", greater_than},
    {"gt", greater_than},
    {"in", in},
    {"integer", integer},
    {"iterable", iterable},
    {"le", at_most},
    {"lessthan", less_than},
    {"lower", lower},
    {"lt", less_than},
    {"mapping", mapping},
    {"ne", not_equal},
    {"none", none},
    {"number", number},
    {"odd", odd},
    {"sameas", same_as},
    {"sequence", sequence},
    {"string", string},
    {"test", test},
    {"true", is_true},
    {"undefined", undefined},
    {"upper", upper},
};

}  // namespace

const Test* find_test(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests), [&](const Test& t) { return t.name == name; });
  return found == std::end(kTests) ? nullptr : found;
}

}  // namespace millrace::chat::jinja

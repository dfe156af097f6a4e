#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"
#include "chat/jinja/text_ops.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

template <bool (*predicate)(char32_t)>
Value all_are(Runtime& runtime, const Value& self, Arguments& arguments) {
  expect_no_arguments("is", arguments);
  return all_characters(runtime.budget, *self.text(), predicate);
}

template <bool (*predicate)(Budget&, const Text&)>
Value holds(Runtime& runtime, const Value& self, Arguments& arguments) {
  expect_no_arguments("is", arguments);
  return predicate(runtime.budget, *self.text());
}

bool is_alnum(char32_t c) { return is_alpha(c) || is_numeric(c); }
bool is_ascii(Budget&, const Text& text) { return text.ascii(); }
bool is_all_printable(Budget& budget, const Text& text) {
  return text.empty() || all_characters(budget, text, is_printable);
}

constexpr Method kPredicates[] = {
    {"isalnum", all_are<is_alnum>},     {"isalpha", all_are<is_alpha>},           {"isascii", holds<is_ascii>},
    {"isdecimal", all_are<is_decimal>}, {"isdigit", all_are<is_digit>},           {"islower", holds<is_all_lower>},
    {"isnumeric", all_are<is_numeric>}, {"isprintable", holds<is_all_printable>}, {"isspace", all_are<is_space>},
    {"istitle", holds<is_titled>},      {"isupper", holds<is_all_upper>},
};

}  // namespace

std::span<const Method> text_predicates() { return kPredicates; }

}  // namespace millrace::chat::jinja

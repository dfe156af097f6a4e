#pragma once

#include <span>
#include <string_view>

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// The functions that templates can use by name. Each table has rows of {name, function}; a new filter, test, method or
// global is one function and one row.

struct Filter {
  std::string_view name;
  Value (*apply)(Runtime&, const Value& input, Arguments&);
};
struct Test {
  std::string_view name;
  bool (*check)(Runtime&, const Value& input, Arguments&);
};
struct Method {
  std::string_view name;
  Value (*call)(Runtime&, const Value& self, Arguments&);
};

const Filter* find_filter(std::string_view name);
const Test* find_test(std::string_view name);
std::span<const Builtin> globals();

std::span<const Filter> text_filters();
std::span<const Filter> number_filters();
std::span<const Filter> sequence_filters();
std::span<const Filter> selection_filters();
std::span<const Filter> conversion_filters();
std::span<const Method> text_methods();
std::span<const Method> text_predicates();
std::span<const Method> integer_methods();
std::span<const Method> real_methods();
std::span<const Method> list_methods();
std::span<const Method> dict_methods();

}  // namespace millrace::chat::jinja

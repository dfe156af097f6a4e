#include <cmath>

#include "chat/jinja/arguments.h"
#include "chat/jinja/builtins.h"

namespace millrace::chat::jinja {
namespace {

__extension__ using Unsigned = unsigned __int128;

Value bit_length(Runtime&, const Value& self, Arguments& arguments) {
  expect_no_arguments("bit_length", arguments);
  const Integer value = *self.as_integer();
  auto rest = static_cast<Unsigned>(value);
  if (value < 0) rest = 0 - rest;
  int bits = 0;
  for (; rest != 0; rest >>= 1) ++bits;
  return bits;
}

Value is_integer(Runtime&, const Value& self, Arguments& arguments) {
  expect_no_arguments("is_integer", arguments);
  return std::isfinite(*self.real()) && std::trunc(*self.real()) == *self.real();
}

constexpr Method kIntegerMethods[] = {{"bit_length", bit_length}};
constexpr Method kRealMethods[] = {{"is_integer", is_integer}};

}  // namespace

std::span<const Method> integer_methods() { return kIntegerMethods; }
std::span<const Method> real_methods() { return kRealMethods; }

}  // namespace millrace::chat::jinja

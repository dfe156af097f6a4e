#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

enum class Operator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };

// Python's binary operators, including + of strings and of lists, * of a string or list with an int, and % as printf
// formatting.
Value apply(Runtime& runtime, Operator op, const Value& a, const Value& b);
Value negate(const Value& value);
Value plus(const Value& value);

}  // namespace millrace::chat::jinja

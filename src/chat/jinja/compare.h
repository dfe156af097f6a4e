#pragma once

#include "chat/jinja/runtime.h"

namespace millrace::chat::jinja {

// Python's ==.
bool equals(Budget& budget, const Value& a, const Value& b);
// Python's < and <=. They fail for types without an order; `sign` names the operator in the message.
bool less(Budget& budget, const Value& a, const Value& b, std::string_view sign = "<");
bool less_equal(Budget& budget, const Value& a, const Value& b, std::string_view sign = "<=");
// Python's `item in container`.
bool contains(Runtime& runtime, const Value& container, const Value& item);

}  // namespace millrace::chat::jinja

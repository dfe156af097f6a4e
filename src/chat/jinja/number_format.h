#pragma once

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

// The format of a number before padding, in % and str.format.
struct NumberStyle {
  char type = 'd';  // d b o x X, or e E f F g G
  int precision = -1;
  bool alternate = false;
  char sign = '-';    // '+', '-' or ' '
  char grouping = 0;  // ',' or '_' between thousands
};

// Formats a number. The sign, if there is one, is the first character.
std::string format_number(Budget& budget, const Value& number, const NumberStyle& style);
bool is_real_type(char type);

}  // namespace millrace::chat::jinja

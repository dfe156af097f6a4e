#pragma once

#include "chat/jinja/value.h"

namespace millrace::chat::jinja {

// How a number is written by % and str.format alike, before padding.
struct NumberStyle {
  char type = 'd';  // d b o x X, or e E f F g G
  int precision = -1;
  bool alternate = false;
  char sign = '-';    // '+', '-' or ' '
  char grouping = 0;  // ',' or '_' between thousands
};

// The sign is the first character where there is one.
std::string format_number(Budget& budget, const Value& number, const NumberStyle& style);
bool is_real_type(char type);

}  // namespace millrace::chat::jinja

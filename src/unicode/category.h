#pragma once

#include "unicode/general_category.h"

namespace millrace::unicode {

Category category_of(char32_t code_point) noexcept;  // two loads, after the first call
bool is_han(char32_t code_point) noexcept;           // \p{Han}

}  // namespace millrace::unicode

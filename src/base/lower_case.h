#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The text with A to Z in lower case; all other bytes are unchanged.
std::string lower_case(std::string_view text);

}  // namespace millrace

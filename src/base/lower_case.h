#pragma once

#include <string>
#include <string_view>

namespace millrace {

// The text with A to Z as a to z; all other bytes stay.
std::string lower_case(std::string_view text);

}  // namespace millrace

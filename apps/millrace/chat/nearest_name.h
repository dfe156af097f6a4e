#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// The name that `word` most likely was meant to be: one that begins with it, else the nearest by at most two letters
// that are wrong, missing or too many; empty: none is near.
std::string nearest_name(std::string_view word, const std::vector<std::string>& names);

}  // namespace millrace::app

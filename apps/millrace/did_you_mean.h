#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace millrace::app {

// The names that `word` may be meant for, best first, at most three: those that it begins, else those that a slip of
// the keys separates from it (one for up to five letters, else two). Leading dashes do not count. Never "--help",
// which every message names anyway. Empty: no name is near.
std::vector<std::string> near_names(std::string_view word, const std::vector<std::string>& names);

// "; did you mean '--port'?", or nothing where no name is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace millrace::app

#pragma once

#include <string>
#include <string_view>

namespace millrace::text {

// Replaces every `pattern` in `text`, from the left, by `content`. Does nothing for an empty pattern. Linear time.
void replace_all(std::string& text, std::string_view pattern, std::string_view content);

}  // namespace millrace::text

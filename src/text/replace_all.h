#pragma once

#include <string>
#include <string_view>

namespace millrace::text {

// Every `pattern` in `text`, from the left, becomes `content`. Nothing for an empty pattern. Linear time.
void replace_all(std::string& text, std::string_view pattern, std::string_view content);

}  // namespace millrace::text

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::chat::jinja {

// strftime in the C locale and UTC; unknown directives stay as they are. `seconds` since 1970.
std::string format_time(std::string_view format, std::int64_t seconds);

}  // namespace millrace::chat::jinja

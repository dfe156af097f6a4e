#pragma once

#include <string>
#include <string_view>

namespace millrace::checkpoint {

// A name from a file as it may stand in a one-line message: in quotes, anything but printable ASCII escaped, cut at 80
// bytes.
std::string quote_name(std::string_view name);

}  // namespace millrace::checkpoint

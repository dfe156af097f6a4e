#pragma once

#include <string>
#include <string_view>

namespace millrace::checkpoint {

// A name from a file in a form for one-line messages: quoted, with everything but printable ASCII escaped, and cut at
// 80 bytes.
std::string quote_name(std::string_view name);

}  // namespace millrace::checkpoint

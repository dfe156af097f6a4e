#pragma once

#include <string>

namespace millrace {

// "1.25 GB": decimal units, three digits.
std::string readable_bytes(double bytes);

}  // namespace millrace

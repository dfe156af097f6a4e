#pragma once

#include <string>

namespace millrace {

// The size as text in decimal units with three digits: "1.25 GB".
std::string readable_bytes(double bytes);

}  // namespace millrace

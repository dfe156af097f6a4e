#pragma once

#include <string>

namespace millrace::runtime {

// Where packed weights, outliers and KV pages are kept unless told otherwise: $XDG_CACHE_HOME/millrace, else
// ~/.cache/millrace.
std::string cache_directory();

}  // namespace millrace::runtime

#pragma once

#include <string>

namespace millrace::runtime {

// The default directory of packed weights, outliers and KV pages: $XDG_CACHE_HOME/millrace, else ~/.cache/millrace. It
// need not exist.
std::string cache_directory();

}  // namespace millrace::runtime

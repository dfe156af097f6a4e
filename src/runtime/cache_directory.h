#pragma once

#include <string>

namespace millrace::runtime {

// The default directory of packed weights, outlier lists and KV pages: $XDG_CACHE_HOME/millrace, else
// ~/.cache/millrace. It may not exist yet.
std::string cache_directory();

}  // namespace millrace::runtime

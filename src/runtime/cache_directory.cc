#include "runtime/cache_directory.h"

#include <cstdlib>

namespace millrace::runtime {

std::string cache_directory() {
  if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg != '\0')
    return std::string(xdg) + "/millrace";
  const char* home = std::getenv("HOME");
  return std::string(home == nullptr ? "." : home) + "/.cache/millrace";
}

}  // namespace millrace::runtime

#include "screen/look.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace millrace::screen {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool locale_has_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view value = variable(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos || value.find("utf-8") != value.npos;
  }
  return false;
}

}  // namespace

Look look_of(int descriptor) {
  Look look;
  look.terminal = ::isatty(descriptor) == 1;
  if (!look.terminal) return look;
  const std::string_view term = variable("TERM");
  look.escapes = !term.empty() && term != "dumb";
  look.styles = look.escapes && variable("NO_COLOR").empty();
  look.ascii = !locale_has_utf8();
  look.columns = [descriptor] {
    winsize size{};
    return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? static_cast<int>(size.ws_col) : 0;
  };
  return look;
}

}  // namespace millrace::screen

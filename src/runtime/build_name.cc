#include "runtime/build_name.h"

#include <dlfcn.h>

#include <millrace/version.h>
#include <filesystem>

#include "commit.gen.h"

namespace millrace::runtime {
namespace {

// The file that this code was loaded from: a shared library's path, else the program.
std::filesystem::path own_file() {
  Dl_info found{};
  if (::dladdr(reinterpret_cast<const void*>(&build_version), &found) != 0 && found.dli_fname != nullptr) {
    const std::string_view name = found.dli_fname;
    if (name.find(".so") != std::string_view::npos) return name;
  }
  return "/proc/self/exe";
}

}  // namespace

std::string_view build_version() noexcept { return MILLRACE_VERSION; }
std::string_view build_commit() noexcept { return MILLRACE_COMMIT; }

std::string build_key() {
  std::string key = MILLRACE_VERSION " " MILLRACE_COMMIT;
  if (!key.ends_with('+')) return key;
  std::error_code failed;
  const auto changed = std::filesystem::last_write_time(own_file(), failed);
  return key + std::to_string(changed.time_since_epoch().count());
}

}  // namespace millrace::runtime

#include "old_flags.h"

#include <fmt/core.h>

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/old_names.h"

namespace millrace::app {
namespace {

std::string variable_of(std::string_view flag) {
  std::string name = "MILLRACE_";
  for (const char c : flag) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

void move_variables() {
  for (const OldName& one : all_old_names()) {
    if (one.kind != OldName::Kind::kFlag) continue;
    const std::string old = variable_of(one.old), now = variable_of(one.now);
    const char* value = std::getenv(old.c_str());
    if (value == nullptr || std::getenv(now.c_str()) != nullptr) continue;
    warn_old_name(old, now);
    ::setenv(now.c_str(), value, 1);
  }
}

}  // namespace

void warn_old_name(std::string_view old, std::string_view now) {
  fmt::print(stderr, "millrace: {} is called {} now; the old name works for this version only\n", old, now);
}

std::vector<std::string> with_current_flags(int argc, const char* const* argv) {
  move_variables();
  std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  for (std::string& argument : arguments) {
    if (argument == "--") break;
    // vLLM's: a short name has one letter here.
    if (argument == "-tp") argument = "--tensor-parallel-size";
    if (argument == "-pp") argument = "--pipeline-parallel-size";
    if (!argument.starts_with("--")) continue;
    const std::string old = argument.substr(2, argument.find('=') - 2);
    const auto now = renamed(OldName::Kind::kFlag, old);
    if (!now) continue;
    warn_old_name("--" + old, "--" + std::string(*now));
    argument.replace(2, old.size(), *now);
  }
  return arguments;
}

std::string with_current_key(const std::string& file, std::string key) {
  const auto now = renamed(OldName::Kind::kFlag, key);
  if (!now) return key;
  warn_old_name(file + ": " + key, *now);
  return std::string(*now);
}

}  // namespace millrace::app

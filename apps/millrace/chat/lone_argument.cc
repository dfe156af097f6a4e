#include "chat/lone_argument.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "hub/reference.h"

namespace millrace::app {
namespace {

bool is_white_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool exists(const std::string& path) {
  std::error_code ignored;  // a name too long for the file system is no file
  return std::filesystem::exists(path, ignored);
}

// As one word of a shell's command.
std::string shell_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\'";
    out += c;
  }
  return out + "'";
}

}  // namespace

bool is_prompt(const std::string& argument) {
  return std::ranges::any_of(argument, is_white_space) && !exists(argument);
}

Error with_other_reading(Error error, const std::string& argument) {
  const bool other_cause = error.code == ErrorCode::kCancelled || error.code == ErrorCode::kUnsupported ||
                           error.code == ErrorCode::kBadFile || error.code == ErrorCode::kResourceExhausted;
  if (other_cause || argument == "default" || hub::is_path_reference(argument) || exists(argument)) return error;
  const std::string word = shell_quoted(argument);
  error.message += fmt::format(
      ". {0} was read as the name of a model (to download it: millrace pull {0}); as a prompt "
      "for the default model: millrace run default {0}",
      word);
  return error;
}

}  // namespace millrace::app

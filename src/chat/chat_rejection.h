#pragma once

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace millrace::chat {

// The error of a rejected request. Thrown by the functions that read one; chat_variables() catches it and returns the
// error. `path` names the field: "messages[2].content[1].type".
struct ChatRejection {
  Error error;
};

template <typename... Args>
[[noreturn]] void reject(std::string path, fmt::format_string<Args...> format, Args&&... args) {
  std::string message = path + " " + fmt::format(format, std::forward<Args>(args)...);
  throw ChatRejection{Error{ErrorCode::kInvalidArgument, std::move(path), std::move(message)}};
}

// A client's string for use in an error message: quoted, cut, ASCII.
inline std::string client_string(std::string_view text) {
  constexpr std::size_t kShown = 40;
  const std::string shown =
      nlohmann::json(text.substr(0, kShown)).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  return text.size() > kShown ? shown.substr(0, shown.size() - 1) + "...\"" : shown;
}

}  // namespace millrace::chat

#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace millrace::chat::jinja {

// An error inside the template engine. Thrown within chat/jinja only: compile and render of ChatTemplate catch it, add
// the line, and return an Error.
struct Failure {
  ErrorCode code;
  std::string message;
  bool is_final = false;  // the message is the template's own (raise_exception), so no line is added
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{ErrorCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace millrace::chat::jinja

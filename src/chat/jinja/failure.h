#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "base/error.h"

namespace millrace::chat::jinja {

// How an error leaves the depths of the engine. Thrown inside chat/jinja only: ChatTemplate's compile and render catch
// it, add the line, and return an Error.
struct Failure {
  ErrorCode code;
  std::string message;
  bool is_final = false;  // the template's own words (raise_exception): no line is added
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{ErrorCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace millrace::chat::jinja

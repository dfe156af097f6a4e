#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace millrace {

// Kinds of failures for users. Each code maps to one HTTP status and one exit code.
enum class ErrorCode {
  kInvalidArgument,    // 400, exit 2: a value given by the caller; `param` names it
  kContextLength,      // 400, exit 2: more tokens than the model or the KV cache can hold
  kNotFound,           // 404, exit 3: a model, file or adapter does not exist
  kUnsupported,        // 400, exit 3: valid, but not supported by this build
  kBadFile,            // 500, exit 3: a model, tokenizer or template file is damaged or inconsistent
  kResourceExhausted,  // 429/503, exit 4: it does not fit in memory, or a limit was reached
  kCancelled,          // 499
  kUnavailable,        // 503, exit 1: temporarily: loading, shutting down
  kInternal,           // 500, exit 1
};

int exit_code(ErrorCode code) noexcept;
std::string_view to_string(ErrorCode code) noexcept;

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string param;    // the offending field, tensor or flag; may be empty
  std::string message;  // one line with the value found, the expected one, and the limit
};

// Exception for failures at start-up (model files, shapes, configuration), caught once, by the code that requested the
// load. Failures of requests are Result<T> values (base/result.h).
class LoadError : public std::runtime_error {
 public:
  explicit LoadError(Error error) : std::runtime_error(error.message), error_(std::move(error)) {}
  const Error& error() const noexcept { return error_; }

 private:
  Error error_;
};

template <typename... Args>
Error make_error(ErrorCode code, std::string param, fmt::format_string<Args...> format, Args&&... args) {
  return Error{code, std::move(param), fmt::format(format, std::forward<Args>(args)...)};
}

template <typename... Args>
[[noreturn]] void throw_load_error(ErrorCode code, std::string param, fmt::format_string<Args...> format,
                                   Args&&... args) {
  throw LoadError(make_error(code, std::move(param), format, std::forward<Args>(args)...));
}

}  // namespace millrace

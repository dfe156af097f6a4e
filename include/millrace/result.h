#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace millrace::api {

enum class ErrorCode {
  kInvalidArgument,    // a value that the caller gave; `field` names it
  kContextLength,      // more tokens than the model or the KV cache holds
  kNotFound,           // a file that is not there
  kUnsupported,        // understood, but not something this build or this model does
  kBadFile,            // a model file that is damaged or contradicts itself
  kResourceExhausted,  // does not fit in memory, or a limit was reached: fewer requests or smaller ones may do
  kCancelled,          // ended because it was cancelled
  kUnavailable,        // not now, later
  kInternal,           // a mistake in the library
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string field = {};    // of the configuration or request, as spelled there; may be empty
  std::string message = {};  // one line for people: what was found, what was expected, the limit
};

// A value or the reason why there is none. No function of the library lets an exception out.
//   auto model = Model::load({.path = path});
//   if (!model) return report(model.error());
//   use(*model);
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // To ask for what is not there ends the process.
  T& operator*() { return *checked(std::get_if<0>(&state_)); }
  const T& operator*() const { return *checked(std::get_if<0>(&state_)); }
  T* operator->() { return checked(std::get_if<0>(&state_)); }
  const T* operator->() const { return checked(std::get_if<0>(&state_)); }
  const Error& error() const { return *checked(std::get_if<1>(&state_)); }

 private:
  template <typename P>
  static P* checked(P* there) noexcept {
    if (there == nullptr) std::abort();
    return there;
  }
  std::variant<T, Error> state_;
};

}  // namespace millrace::api

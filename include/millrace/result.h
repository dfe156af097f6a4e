#pragma once

#include <cstdlib>
#include <string>
#include <utility>
#include <variant>

namespace millrace::api {

enum class ErrorCode {
  kInvalidArgument,    // a value given by the caller is invalid; `field` names it
  kContextLength,      // more tokens than the model or the KV cache can hold
  kNotFound,           // a file does not exist
  kUnsupported,        // valid, but not supported by this build or this model
  kBadFile,            // a model file is damaged or inconsistent
  kResourceExhausted,  // memory is short, or a limit was reached: try fewer or smaller requests
  kCancelled,          // cancelled by the caller
  kUnavailable,        // temporarily not possible: try again later
  kInternal,           // a bug in the library
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string field = {};    // of the configuration or request, with the name of the member; may be empty
  std::string message = {};  // one line for people: the value found, the expected one, the limit
};

// A value, or the error that explains why there is none:
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

  // Access to the value, or to the error. std::abort() if the object holds the other one: test ok() first.
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

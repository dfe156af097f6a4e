#pragma once

#include <utility>
#include <variant>

#include "base/check.h"
#include "base/error.h"

namespace millrace {

// A value or an expected failure. Neither copies nor allocates beyond what T and Error do.
//   Result<int> r = parse(text);
//   if (!r) return r.error();
//   use(*r);
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  // The value. CHECKs that there is one.
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(value()); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const {
    CHECK(!ok());
    return *std::get_if<1>(&state_);
  }
  // The value, or throws the error as LoadError. For code that runs at start-up.
  T or_throw() && {
    if (!ok()) throw LoadError(error());
    return std::move(value());
  }

 private:
  T& value() {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const {
    CHECK(ok());
    return *std::get_if<0>(&state_);
  }
  std::variant<T, Error> state_;
};

// Success without a value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}
  bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  const Error& error() const {
    CHECK(!ok_);
    return error_;
  }
  void or_throw() && {
    if (!ok_) throw LoadError(error_);
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace millrace

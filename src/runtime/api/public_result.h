#pragma once

#include <millrace/result.h>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace millrace::runtime {

// Converts an internal error to a public one. Flag names become field names, in the message too: "spec-method" becomes
// "spec_method".
api::Error public_error(const Error& error);

// Calls `work`, which returns an api::Result, and converts exceptions to errors: none leaves the public functions.
template <typename Work>
std::invoke_result_t<Work> guarded(Work work) noexcept {
  try {
    return work();
  } catch (const LoadError& failure) {
    return public_error(failure.error());
  } catch (const std::bad_alloc&) {
    return api::Error{api::ErrorCode::kResourceExhausted, "", "out of memory"};
  } catch (const std::exception& failure) {
    return api::Error{api::ErrorCode::kInternal, "", failure.what()};
  }
}

}  // namespace millrace::runtime

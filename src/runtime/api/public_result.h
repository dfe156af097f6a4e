#pragma once

#include <millrace/result.h>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace millrace::runtime {

// Converts an error to the public type. A field that has the name of a flag, "spec-method", gets the public name,
// spec_method, also at the start of the message.
api::Error public_error(const Error& error);

// Calls `work`, which returns an api::Result, and turns exceptions into errors: that of a LoadError, kResourceExhausted
// for std::bad_alloc, kInternal for any other std::exception. All public functions that may fail go through it.
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

#pragma once

#include <millrace/result.h>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace millrace::runtime {

// An error as the public headers spell it: of a flag "spec-method" it says spec_method, in the message too.
api::Error public_error(const Error& error);

// What `work` returns, an api::Result; what it throws is the error. The border that no exception crosses.
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

#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cpu/cpu_backend.h"
#include "backend/testing/locked_backend.h"

namespace millrace::backend {

// The backend that tests run models on: the processor's, behind a lock where MILLRACE_TEST_BACKEND is "locked".
inline std::unique_ptr<Backend> make_test_backend(int threads, const std::string& isa = "") {
  auto made = cpu::make_cpu_backend({.threads = threads, .isa = isa}).or_throw();
  const char* kind = std::getenv("MILLRACE_TEST_BACKEND");
  if (kind == nullptr || std::string_view(kind) != "locked") return made;
  return std::make_unique<LockedBackend>(std::move(made));
}

}  // namespace millrace::backend

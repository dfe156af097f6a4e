#pragma once

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "backend/cpu/cpu_backend.h"
#include "backend/testing/locked_backend.h"

namespace millrace::backend {

// Whether tests run on LockedBackend: the environment variable MILLRACE_TEST_BACKEND is "locked".
inline bool test_memory_is_locked() {
  const char* kind = std::getenv("MILLRACE_TEST_BACKEND");
  return kind != nullptr && std::string_view(kind) == "locked";
}

// The CPU backend for tests, in a LockedBackend if test_memory_is_locked(). `isa` "" = the best. Throws LoadError.
// `group`: of the ranks that it is one of.
inline std::unique_ptr<Backend> make_test_backend(int threads, const std::string& isa = "",
                                                  std::shared_ptr<comm::Communicator> group = nullptr) {
  auto made = cpu::make_cpu_backend({.threads = threads, .isa = isa, .communicator = std::move(group)}).or_throw();
  if (!test_memory_is_locked()) return made;
  return std::make_unique<LockedBackend>(std::move(made));
}

}  // namespace millrace::backend

// Records the functions of what is compiled with -finstrument-functions. Itself compiled without.

#include "tracer.h"

#include <link.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace millrace::trace {
namespace {

using Events = std::vector<std::uintptr_t>;  // addresses of functions entered; 0: one was left

std::mutex mutex;                              // of threads
std::vector<std::unique_ptr<Events>> threads;  // stay when their threads end
thread_local Events* mine = nullptr;

Events& events() {
  if (mine == nullptr) {
    const std::lock_guard lock(mutex);
    mine = threads.emplace_back(std::make_unique<Events>()).get();
  }
  return *mine;
}

// Of this program: the first that the loader names.
std::uintptr_t image_begin() {
  std::uintptr_t begin = 0;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        *static_cast<std::uintptr_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &begin);
  return begin;
}

}  // namespace

void write(std::FILE* file) {
  const std::lock_guard lock(mutex);
  const std::uintptr_t begin = image_begin();
  for (std::size_t i = 0; i < threads.size(); ++i) {
    std::fprintf(file, "thread %zu\n", i);
    for (const std::uintptr_t event : *threads[i]) {
      event == 0 ? std::fputs("-\n", file) : std::fprintf(file, "+%zx\n", event - begin);
    }
  }
}

}  // namespace millrace::trace

// NOLINTBEGIN(bugprone-reserved-identifier): the compiler's names
extern "C" {
void __cyg_profile_func_enter(void* function, void*);
void __cyg_profile_func_exit(void*, void*);

void __cyg_profile_func_enter(void* function, void*) {
  millrace::trace::events().push_back(reinterpret_cast<std::uintptr_t>(function));
}
void __cyg_profile_func_exit(void*, void*) { millrace::trace::events().push_back(0); }
}
// NOLINTEND(bugprone-reserved-identifier)

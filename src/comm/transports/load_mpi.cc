#include "comm/transports/load_mpi.h"

#include <dlfcn.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace millrace::comm {
namespace {

constexpr const char* kMpiFile = "libmillrace_mpi.so";
constexpr const char* kMpiVariable = "MILLRACE_MPI_LIBRARY";

}  // namespace

std::vector<std::string> mpi_library_places() {
  if (const char* named = std::getenv(kMpiVariable); named != nullptr && *named != '\0') return {named};
  std::error_code none;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
  std::vector<std::string> places;
  for (const char* folder : {".", "../lib/millrace", "../lib", "../" MILLRACE_LIBDIR "/millrace"}) {
    std::string place = (program / folder / kMpiFile).lexically_normal();
    if (std::ranges::find(places, place) == places.end()) places.push_back(std::move(place));
  }
  return places;
}

Result<const MpiCalls*> load_mpi() {
  const std::vector<std::string> places = mpi_library_places();
  for (const std::string& place : places) {
    std::error_code none;
    if (!std::filesystem::exists(place, none)) continue;
    // For all: parts of Open MPI that it loads itself want symbols of the library.
    void* const library = dlopen(place.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      const char* why = dlerror();
      return make_error(ErrorCode::kUnsupported, "distributed-executor-backend",
                        "distributed-executor-backend mpi: {} cannot be loaded: {}; is the library of MPI installed "
                        "for which it was built?",
                        place, why != nullptr ? why : "no reason is known");
    }
    auto* const function = reinterpret_cast<MpiCallsFunction*>(dlsym(library, kMpiCallsFunction));
    const MpiCalls* const calls = function != nullptr ? function() : nullptr;
    if (calls == nullptr || calls->version != MpiCalls::kVersion) {
      return make_error(ErrorCode::kUnsupported, "distributed-executor-backend",
                        "distributed-executor-backend mpi: {} is of another version of millrace", place);
    }
    return calls;
  }
  return make_error(ErrorCode::kUnsupported, "distributed-executor-backend",
                    "distributed-executor-backend mpi: no {}, which the build makes where it finds a library of MPI, "
                    "is at {}",
                    kMpiFile, fmt::join(places, ", "));
}

}  // namespace millrace::comm

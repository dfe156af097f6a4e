// `--device locked-cpu`: see LockedBackend.

#include "backend/cpu/cpu_backend.h"
#include "backend/device_kind.h"
#include "backend/testing/locked_backend.h"

namespace millrace::backend {
namespace {

Result<std::unique_ptr<Backend>> make_locked(const BackendConfig& config) {
  auto made = cpu::make_cpu_backend(config);
  if (!made) return made.error();
  return std::unique_ptr<Backend>(std::make_unique<LockedBackend>(*std::move(made)));
}

// This file is linked as an object, so that nobody drops it.
const bool added = [] {
  DeviceKind kind = *find_device("cpu");
  kind.name = "locked-cpu";
  kind.description = "the processor, whose memory only operations see";
  kind.make = make_locked;
  return add_device(kind);
}();

}  // namespace
}  // namespace millrace::backend

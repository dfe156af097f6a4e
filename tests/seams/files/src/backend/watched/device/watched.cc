// The processor, seen through a backend of its own.
#include "backend/device_kind.h"
#include "backend/forwarding_backend.h"

namespace millrace::backend::cpu::device {
DeviceKind cpu();
}

namespace millrace::backend::watched::device {
namespace {

class WatchedBackend final : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;
  std::string description() const override { return "watched " + ForwardingBackend::description(); }
};

}  // namespace

DeviceKind watched() {
  DeviceKind kind = cpu::device::cpu();
  kind.name = "watched";
  kind.description = "the processor, watched";
  kind.make = [](const BackendConfig& config) -> Result<std::unique_ptr<Backend>> {
    auto inner = cpu::device::cpu().make(config);
    if (!inner) return inner.error();
    return std::unique_ptr<Backend>(std::make_unique<WatchedBackend>(*std::move(inner)));
  };
  return kind;
}

}  // namespace millrace::backend::watched::device

#include "backend/device_kind.h"

#include <deque>

namespace millrace::backend {
namespace {

std::deque<DeviceKind>& devices() {
  static std::deque<DeviceKind> all(all_devices().begin(), all_devices().end());
  return all;
}

}  // namespace

bool add_device(const DeviceKind& kind) {
  devices().push_back(kind);
  return true;
}

std::vector<std::string> device_names() {
  std::vector<std::string> names;
  for (const DeviceKind& kind : devices()) names.emplace_back(kind.name);
  return names;
}

const DeviceKind* find_device(std::string_view name) noexcept {
  for (const DeviceKind& kind : devices()) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

Result<const DeviceKind*> choose_device(std::string_view name) {
  if (const DeviceKind* kind = find_device(name)) return kind;
  std::string known;
  for (const std::string& one : device_names()) known += (known.empty() ? "" : ", ") + one;
  return make_error(ErrorCode::kInvalidArgument, "device", "device is '{}': expected one of {}", name, known);
}

}  // namespace millrace::backend

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kv_encoding.h"
#include "backend/device_kind.h"
#include "backend/machine_probe.h"

namespace millrace::backend::cpu::device {
namespace {

constexpr std::string_view kFirstLayout = "paged32";  // whose pages the kernels read in place

std::vector<std::string_view> kv_layouts() {
  std::vector<std::string_view> names = {kFirstLayout};
  for (const KvLayout& layout : all_kv_layouts()) {
    if (layout.name != kFirstLayout) names.push_back(layout.name);
  }
  return names;
}

std::vector<KvEncodingKind> kv_encodings() {
  std::vector<KvEncodingKind> kinds;
  for (const KvEncoding& encoding : all_kv_encodings()) {
    kinds.push_back({.name = encoding.name,
                     .aliases = encoding.aliases,
                     .description = encoding.description,
                     .arithmetic = encoding.product_bytes == 4 ? Arithmetic::kF32 : Arithmetic::kBf16});
  }
  return kinds;
}

}  // namespace

DeviceKind cpu() {
  return {.name = "cpu",
          .description = "the processor, with the best instruction set that it has",
          .make = make_cpu_backend,
          .kv_layouts = kv_layouts,
          .kv_encodings = kv_encodings,
          .kv_format = choose_pages};
}

}  // namespace millrace::backend::cpu::device

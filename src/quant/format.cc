#include "quant/format.h"

#include "quant/group_format.h"

namespace millrace::quant {

const QuantFormat* find_format(std::string_view name) noexcept {
  for (const QuantFormat& format : all_formats()) {
    if (format.name == name) return &format;
  }
  for (const QuantFormat& format : group_formats()) {
    if (format.name == name) return &format;
  }
  return nullptr;
}

const QuantFormat* find_gguf_type(std::uint32_t type) noexcept {
  for (const QuantFormat& format : all_formats()) {
    if (format.gguf_type >= 0 && static_cast<std::uint32_t>(format.gguf_type) == type) return &format;
  }
  return nullptr;
}

const QuantFormat* find_safetensors_dtype(std::string_view dtype) noexcept {
  for (const QuantFormat& format : all_formats()) {
    if (!dtype.empty() && format.safetensors_dtype == dtype) return &format;
  }
  return nullptr;
}

}  // namespace millrace::quant

#include "checkpoint/gguf_value.h"

#include <array>

namespace millrace::checkpoint {

bool operator==(const GgufArray& a, const GgufArray& b) { return a.elements == b.elements; }

std::string_view gguf_type_name(std::uint32_t type) noexcept {
  static constexpr std::array<std::string_view, kGgufTypes> kNames = {"uint8",  "int8",    "uint16", "int16",  "uint32",
                                                                      "int32",  "float32", "bool",   "string", "array",
                                                                      "uint64", "int64",   "float64"};
  return type < kNames.size() ? kNames[type] : "unknown";
}

std::string gguf_type_name(const GgufValue& value) {
  const auto* array = std::get_if<GgufArray>(&value);
  if (array == nullptr) return std::string(gguf_type_name(static_cast<std::uint32_t>(value.index())));
  return "array of " + std::string(gguf_type_name(static_cast<std::uint32_t>(array->elements.index())));
}

}  // namespace millrace::checkpoint

#include "tensor/dtype.h"

namespace millrace {

std::string_view to_string(DType type) noexcept {
  switch (type) {
    case DType::kF32: return "f32";
    case DType::kF16: return "f16";
    case DType::kBF16: return "bf16";
    case DType::kI32: return "i32";
    case DType::kI8: return "i8";
    case DType::kU8: return "u8";
  }
  return "?";
}

}  // namespace millrace

#include "lora/scaled_adapter.h"

#include <cmath>
#include <cstdlib>

#include "base/error.h"

namespace millrace::lora {

model::ScaledAdapter parse_scaled_adapter(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at + 1 == text.size()) return {text, 1.0};
  const char* begin = text.c_str() + at + 1;
  char* end = nullptr;
  const double scale = std::strtod(begin, &end);
  if (*end != '\0') return {text, 1.0};
  if (!std::isfinite(scale)) {
    throw_load_error(ErrorCode::kInvalidArgument, "adapter", "adapter '{}': its scale must be a finite number", text);
  }
  return {text.substr(0, at), scale};
}

}  // namespace millrace::lora

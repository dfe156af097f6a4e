#include "model/norm_spec.h"

#include <fmt/format.h>

namespace millrace::model {

std::string key_of(const NormSpec& norm) {
  return fmt::format("{} {} {} {} {}", static_cast<int>(norm.kind), norm.eps, norm.offset, norm.weight, norm.bias);
}

}  // namespace millrace::model

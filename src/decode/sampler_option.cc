#include "decode/sampler_option.h"

#include <type_traits>

namespace millrace::decode {

double SamplerOption::of(const SamplingParams& params) const {
  return std::visit(
      [&]<typename M>(M at) -> double {
        if constexpr (std::is_same_v<M, std::monostate>) {
          return params.options.number(spec);
        } else {
          return static_cast<double>(params.*at);
        }
      },
      member);
}

void SamplerOption::set(SamplingParams& params, double value) const {
  std::visit(
      [&]<typename M>(M at) {
        if constexpr (std::is_same_v<M, std::monostate>) {
          params.options.set(spec.name, value);
        } else {
          params.*at = static_cast<std::decay_t<decltype(params.*at)>>(value);
        }
      },
      member);
}

}  // namespace millrace::decode

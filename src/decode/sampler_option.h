#pragma once

#include <cstdint>
#include <variant>

#include "base/option_spec.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// A parameter of a logits processor. The spec has its name, range, default and help.
struct SamplerOption {
  // Where the value is stored: in a member of SamplingParams or, without one, in SamplingParams::options by its name.
  using Member =
      std::variant<std::monostate, double SamplingParams::*, std::int64_t SamplingParams::*, int SamplingParams::*>;
  OptionSpec spec;
  Member member = {};
  bool model_default = false;  // a model's generation_config may replace the neutral value

  double of(const SamplingParams& params) const;
  void set(SamplingParams& params, double value) const;  // the value must be in range
};

}  // namespace millrace::decode

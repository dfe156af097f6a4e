#pragma once

#include <cstdint>
#include <variant>

#include "base/option_spec.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// A parameter of a logits processor. Its spec says what it is called, which values it takes and what it does.
struct SamplerOption {
  // Where the value is kept: in a member, or, where the option has none, in SamplingParams::options by its name.
  using Member =
      std::variant<std::monostate, double SamplingParams::*, std::int64_t SamplingParams::*, int SamplingParams::*>;
  OptionSpec spec;
  Member member = {};
  bool model_default = false;  // a model's generation_config may say otherwise than the neutral value

  double of(const SamplingParams& params) const;
  void set(SamplingParams& params, double value) const;  // the value is in range
};

}  // namespace millrace::decode

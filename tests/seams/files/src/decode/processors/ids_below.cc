#include "decode/processor.h"

namespace millrace::decode::processors {
namespace {

constexpr SamplerOption kIdsBelow = {.spec = {.name = "ids_below",
                                              .kind = OptionSpec::Kind::kWhole,
                                              .high = kMaxOptionCount,
                                              .help = "Sample only token ids below this; 0 = all"}};

void apply(const SamplingContext& at, Candidates& candidates) {
  const double limit = kIdsBelow.of(at.params);
  std::erase_if(candidates, [=](const Candidate& c) { return static_cast<double>(c.token) >= limit; });
}

}  // namespace

Processor ids_below() {
  return {.name = "ids_below",
          .alias = "",
          .place = 15,
          .stage = Stage::kAdjust,
          .reads_tokens = false,
          .reads_counts = false,
          .active = [](const SamplingParams& p) { return kIdsBelow.of(p) > 0.0; },
          .apply = apply,
          .options = {kIdsBelow}};
}

}  // namespace millrace::decode::processors

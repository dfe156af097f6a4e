#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"
#include "decode/sampling_params.h"

namespace millrace::decode {

// All that sampling a token takes besides its row of logits. Plain data, so that a device or another process that
// computes the logits can sample. Members and ranges are those of SamplingParams.
struct RowSampling {
  double temperature = 1.0;
  std::int64_t top_k = 0;
  double top_p = 1.0;
  double min_p = 0.0;
  std::uint64_t seed = 0;
  friend bool operator==(const RowSampling&, const RowSampling&) = default;
};

// Nothing where `params` ask for more than that: anything that depends on earlier tokens (penalties, DRY, mirostat,
// min_tokens), bans, biases, further samplers, or another order of these. `params` are valid.
std::optional<RowSampling> row_sampling(const SamplingParams& params);

// The token of the row [V] at `position` of its sequence: what LogitsPipeline::sample() gives for the parameters that
// it was made from, bit for bit. kInternal if a logit is NaN or none is finite. O(V).
Result<std::int32_t> sample_row(const RowSampling& sampling, std::span<const float> logits, std::int64_t position);

template <typename Archive>
void visit_fields(Archive& archive, RowSampling& sampling) {
  archive(sampling.temperature, sampling.top_k, sampling.top_p, sampling.min_p, sampling.seed);
}

}  // namespace millrace::decode

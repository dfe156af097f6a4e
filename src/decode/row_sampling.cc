#include "decode/row_sampling.h"

#include "decode/logits_pipeline.h"
#include "decode/processor.h"

namespace millrace::decode {
namespace {

SamplingParams params_of(const RowSampling& sampling) {
  SamplingParams params;
  params.temperature = sampling.temperature;
  params.top_k = sampling.top_k;
  params.top_p = sampling.top_p;
  params.min_p = sampling.min_p;
  params.seed = sampling.seed;
  return params;
}

}  // namespace

std::optional<RowSampling> row_sampling(const SamplingParams& params) {
  const RowSampling sampling = {.temperature = params.temperature,
                                .top_k = params.top_k,
                                .top_p = params.top_p,
                                .min_p = params.min_p,
                                .seed = params.seed};
  const bool more = params.dynatemp_range > 0.0 || params.min_tokens > 0 || !params.allowed_token_ids.empty();
  if (more || build_chain(params) != build_chain(params_of(sampling))) return std::nullopt;
  return sampling;
}

Result<std::int32_t> sample_row(const RowSampling& sampling, std::span<const float> logits, std::int64_t position) {
  return LogitsPipeline(params_of(sampling), static_cast<std::int64_t>(logits.size())).sample(logits, position);
}

}  // namespace millrace::decode

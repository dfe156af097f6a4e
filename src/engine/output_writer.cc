#include "engine/output_writer.h"

#include <algorithm>

namespace millrace::engine {

bool OutputWriter::is_models_end(std::int32_t token, const decode::SamplingParams& sampling) const {
  const auto ends = tokenizer_->end_of_generation();
  return !sampling.ignore_eos && std::ranges::find(ends, token) != ends.end();
}

bool OutputWriter::is_end(std::int32_t token, const decode::SamplingParams& sampling) const {
  return is_models_end(token, sampling) ||
         std::ranges::find(sampling.stop_token_ids, token) != sampling.stop_token_ids.end();
}

FinishReason OutputWriter::write(std::int32_t token, std::int64_t n, const decode::SamplingParams& sampling,
                                 text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) const {
  output.token = token;
  if (is_end(token, sampling)) {
    if (!is_models_end(token, sampling)) output.stop_reason = token;
    if (sampling.include_stop_str_in_output) output.text = stops.push(detokenizer.push(token), false);
    return FinishReason::kStop;
  }
  output.text = stops.push(detokenizer.push(token), n > sampling.min_tokens);
  if (!stops.stopped()) return FinishReason::kNone;
  output.stop_reason = stops.found();
  return FinishReason::kStop;
}

void OutputWriter::flush(text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) {
  if (stops.stopped()) return;
  output.text += stops.push(detokenizer.finish());
  output.text += stops.finish();
}

text::Detokenizer OutputWriter::make_detokenizer(std::shared_ptr<const text::Tokenizer> tokenizer,
                                                 const decode::SamplingParams& sampling) {
  return {std::move(tokenizer), sampling.skip_special_tokens, sampling.shown_special_tokens};
}

decode::StopMatcher OutputWriter::make_stops(const decode::SamplingParams& sampling) {
  return decode::StopMatcher(sampling.stop, sampling.include_stop_str_in_output ? decode::StopMatcher::Shown::kIncluded
                                                                                : decode::StopMatcher::Shown::kBefore);
}

}  // namespace millrace::engine

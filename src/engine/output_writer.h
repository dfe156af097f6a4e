#pragma once

#include <memory>

#include "decode/sampling_params.h"
#include "decode/stop_matcher.h"
#include "engine/request.h"
#include "text/detokenizer.h"

namespace millrace::engine {

// Converts tokens of answers to text that may be shown, and finds the token or stop string that ends an answer.
// Stateless: each answer has its own detokenizer and stop matcher.
class OutputWriter {
 public:
  explicit OutputWriter(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // Whether the token ends an answer: an end-of-generation token, unless ignore_eos, or one of stop_token_ids.
  bool is_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  // Sets token and text of `output` for the n-th token of an answer, counted from 1. kStop, and stop_reason, if the
  // answer ends with it. Stop strings within the first min_tokens tokens do not count.
  FinishReason write(std::int32_t token, std::int64_t n, const decode::SamplingParams& sampling,
                     text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) const;
  // Appends the text that was held back, at the end of an answer.
  static void flush(text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output);

  // The detokenizer and stop matcher of an answer with these parameters.
  static text::Detokenizer make_detokenizer(std::shared_ptr<const text::Tokenizer> tokenizer,
                                            const decode::SamplingParams& sampling);
  static decode::StopMatcher make_stops(const decode::SamplingParams& sampling);

 private:
  bool is_models_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

}  // namespace millrace::engine

#pragma once

#include <memory>

#include "decode/sampling_params.h"
#include "decode/stop_matcher.h"
#include "engine/request.h"
#include "text/detokenizer.h"

namespace millrace::engine {

// Turns tokens of answers into text, and finds the token or stop string that ends an answer. Holds no state of answers:
// callers pass each answer's detokenizer and stop matcher. Any thread.
class OutputWriter {
 public:
  explicit OutputWriter(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // True for stop_token_ids and, unless ignore_eos is set, for the model's ends of generation. Such a token does not
  // become part of the answer.
  bool is_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  // Adds the answer's n-th token, n >= 1, and the text that it completes to `output`. Returns kStop where the token
  // ends the answer, else kNone.
  FinishReason write(std::int32_t token, std::int64_t n, const decode::SamplingParams& sampling,
                     text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) const;
  // Appends the text that detokenizer and stop matcher held back. Call it once, at the end of the answer.
  static void flush(text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output);

  // The detokenizer and the stop matcher of an answer with these parameters, both at its beginning.
  static text::Detokenizer make_detokenizer(std::shared_ptr<const text::Tokenizer> tokenizer,
                                            const decode::SamplingParams& sampling);
  static decode::StopMatcher make_stops(const decode::SamplingParams& sampling);

 private:
  bool is_models_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

}  // namespace millrace::engine

#pragma once

#include <memory>

#include "decode/sampling_params.h"
#include "decode/stop_matcher.h"
#include "engine/request.h"
#include "text/detokenizer.h"

namespace millrace::engine {

// From tokens of answers to their text: what may be shown of it, and which token or stop string ends it. Stateless: an
// answer's detokenizer and stop matcher are its own.
class OutputWriter {
 public:
  explicit OutputWriter(std::shared_ptr<const text::Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}

  // Ends of generation of the model, unless they are ignored, and stop_token_ids: such a token is no part of an answer.
  bool is_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  // Adds the answer's n-th token to `output`, and what it completes of the text. kStop where the answer ends with it.
  FinishReason write(std::int32_t token, std::int64_t n, const decode::SamplingParams& sampling,
                     text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output) const;
  // What was held back at the end of an answer.
  static void flush(text::Detokenizer& detokenizer, decode::StopMatcher& stops, Output& output);

  // What an answer sampled with these parameters is written with.
  static text::Detokenizer make_detokenizer(std::shared_ptr<const text::Tokenizer> tokenizer,
                                            const decode::SamplingParams& sampling);
  static decode::StopMatcher make_stops(const decode::SamplingParams& sampling);

 private:
  bool is_models_end(std::int32_t token, const decode::SamplingParams& sampling) const;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
};

}  // namespace millrace::engine

#include "simulator/reference.h"

#include <algorithm>

#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {

using engine::FinishReason;

Reference::Reference(const std::vector<std::int32_t>& prompt, const decode::SamplingParams& sampling,
                     std::int64_t limit)
    : sampling_(sampling),
      pipeline_(sampling, kLetters),
      logits_(static_cast<std::size_t>(kLetters)),
      length_(static_cast<std::int64_t>(prompt.size())),
      limit_(limit) {
  pipeline_.observe(prompt);
  for (const std::int32_t token : prompt) fake_.append(token);
}

std::optional<std::int32_t> Reference::next() {
  if (finish_ != FinishReason::kNone) return std::nullopt;
  fake_.logits(logits_);
  const std::int32_t token = *pipeline_.sample(logits_, length_);
  ++drawn_;
  if (!sampling_.ignore_eos && token == kEndOfAnswer) {
    finish_ = FinishReason::kStop;
    return token;
  }
  fake_.append(token);
  pipeline_.accept(token);
  ++length_;
  show(token);
  if (finish_ == FinishReason::kNone && (drawn_ >= sampling_.max_tokens || length_ >= limit_)) {
    finish_ = FinishReason::kLength;
  }
  return token;
}

void Reference::show(std::int32_t token) {
  if (token == kEndOfAnswer) return;  // special: not shown
  if (!text_.empty()) text_ += ' ';
  text_ += letter_of(token);
  std::size_t first = std::string::npos;
  for (const std::string& stop : sampling_.stop) first = std::min(first, text_.find(stop));
  if (first == std::string::npos) return;
  text_.resize(first);
  finish_ = FinishReason::kStop;
}

}  // namespace millrace::simulator

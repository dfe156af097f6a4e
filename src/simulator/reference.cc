#include "simulator/reference.h"

#include <algorithm>

#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {

using engine::FinishReason;

Reference::Reference(const std::vector<std::int32_t>& prompt, const decode::SamplingParams& sampling,
                     std::int64_t limit, std::uint64_t adapters)
    : sampling_(sampling),
      pipeline_(sampling, kLetters),
      fake_(adapters),
      logits_(static_cast<std::size_t>(kLetters)),
      length_(static_cast<std::int64_t>(prompt.size())),
      limit_(limit) {
  pipeline_.observe(prompt);
  for (const std::int32_t token : prompt) fake_.append(token);
}

std::optional<std::int32_t> Reference::next() {
  if (finish_ != FinishReason::kNone) return std::nullopt;
  std::int32_t token = 0;
  if (found_) {
    if (static_cast<std::size_t>(sampled_) == found_->size()) return std::nullopt;
    token = (*found_)[static_cast<std::size_t>(sampled_)];
  } else {
    fake_.logits(logits_);
    token = *pipeline_.sample(logits_, length_);
  }
  ++sampled_;
  if (!sampling_.ignore_eos && token == kEndOfAnswer) {
    finish_ = FinishReason::kStop;
    return token;
  }
  fake_.append(token);
  pipeline_.accept(token);
  ++length_;
  show(token);
  if (finish_ == FinishReason::kNone && (sampled_ >= sampling_.max_tokens || length_ >= limit_)) {
    finish_ = FinishReason::kLength;
  }
  return token;
}

std::vector<std::unique_ptr<Reference>> Reference::searched(const std::vector<std::int32_t>& prompt,
                                                            const engine::Request& request, std::int64_t limit) {
  decode::BeamOptions options = *request.beams;
  options.max_tokens = std::min(request.sampling.max_tokens, limit - std::ssize(prompt));
  if (!request.sampling.ignore_eos) options.end_tokens = {kEndOfAnswer};
  decode::BeamSearch search(options);
  const std::uint64_t adapters = adapter_stamp(request.adapters);
  const Reference start(prompt, request.sampling, limit, adapters);
  std::vector<float> logits(static_cast<std::size_t>(kLetters));
  while (!search.done()) {
    std::vector<std::vector<decode::ScoredToken>> rows;
    for (const auto& beam : search.live()) {
      FakeText text = start.fake_;
      decode::LogitsPipeline pipeline = start.pipeline_;
      for (const std::int32_t token : beam.tokens) {
        text.append(token);
        pipeline.accept(token);
      }
      text.logits(logits);
      const auto row = *pipeline.scores(logits, std::ssize(prompt) + std::ssize(beam.tokens), search.row_width());
      rows.emplace_back(row.begin(), row.end());
    }
    search.step(std::vector<std::span<const decode::ScoredToken>>(rows.begin(), rows.end()));
  }
  std::vector<std::unique_ptr<Reference>> answers;
  for (const auto& hypothesis : search.finished()) {
    answers.push_back(std::make_unique<Reference>(prompt, request.sampling, limit, adapters));
    answers.back()->found_ = hypothesis.tokens;
  }
  return answers;
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

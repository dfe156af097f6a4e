#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decode/logits_pipeline.h"
#include "engine/request.h"
#include "simulator/fake_executor.h"

namespace millrace::simulator {

// The expected answer: the fake model computes it token by token, without an engine, pages, batches or chunks.
class Reference {
 public:
  // `limit` is the limit of tokens of prompt and answer together, `adapters` an adapter_stamp().
  Reference(const std::vector<std::int32_t>& prompt, const decode::SamplingParams& sampling, std::int64_t limit,
            std::uint64_t adapters = 0);

  // The answers of a beam search, the best first; request.beams must be set. next() gives their tokens.
  static std::vector<std::unique_ptr<Reference>> searched(const std::vector<std::int32_t>& prompt,
                                                          const engine::Request& request, std::int64_t limit);

  // The next token; nothing once the answer has ended.
  std::optional<std::int32_t> next();
  // kNone until the answer has ended.
  engine::FinishReason finish() const noexcept { return finish_; }
  // The text so far that a client may see: up to the stop string.
  const std::string& text() const noexcept { return text_; }

 private:
  void show(std::int32_t token);

  std::optional<std::vector<std::int32_t>>
      found_;  // tokens of an answer of a beam search; nothing: the answer is sampled

  decode::SamplingParams sampling_;
  decode::LogitsPipeline pipeline_;
  FakeText fake_;
  std::vector<float> logits_;
  std::int64_t length_, sampled_ = 0, limit_;
  std::string text_;
  engine::FinishReason finish_ = engine::FinishReason::kNone;
};

}  // namespace millrace::simulator

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

// The correct answer to one request: computed token by token on the fake model, without pages, batches or chunks.
class Reference {
 public:
  // `limit`: greatest length of prompt and answer together, in tokens.
  Reference(const std::vector<std::int32_t>& prompt, const decode::SamplingParams& sampling, std::int64_t limit);

  // The hypotheses that a beam search finds, the best first.
  static std::vector<std::unique_ptr<Reference>> searched(const std::vector<std::int32_t>& prompt,
                                                          const engine::Request& request, std::int64_t limit);

  // The next token; nothing once the answer has ended.
  std::optional<std::int32_t> next();
  // How the answer ended; kNone before its end.
  engine::FinishReason finish() const noexcept { return finish_; }
  // Its text so far, without a stop string.
  const std::string& text() const noexcept { return text_; }

 private:
  void show(std::int32_t token);

  std::optional<std::vector<std::int32_t>> found_;  // the tokens of a beam search's hypothesis; nothing = sampled

  decode::SamplingParams sampling_;
  decode::LogitsPipeline pipeline_;
  FakeText fake_;
  std::vector<float> logits_;
  std::int64_t length_, sampled_ = 0, limit_;
  std::string text_;
  engine::FinishReason finish_ = engine::FinishReason::kNone;
};

}  // namespace millrace::simulator

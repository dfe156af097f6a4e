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

// One answer as it must be: the fake model alone with the prompt, without pages, batches or chunks, token by token.
class Reference {
 public:
  // `limit`: tokens that prompt and answer may have together.
  Reference(const std::vector<std::int32_t>& prompt, const decode::SamplingParams& sampling, std::int64_t limit);

  // The answers that a beam search finds, each as if it were sampled.
  static std::vector<std::unique_ptr<Reference>> searched(const std::vector<std::int32_t>& prompt,
                                                          const engine::Request& request, std::int64_t limit);

  // The next token; nothing once the answer has ended.
  std::optional<std::int32_t> next();
  // How it has ended: kNone before.
  engine::FinishReason finish() const noexcept { return finish_; }
  // What may be shown of it: up to the stop string.
  const std::string& text() const noexcept { return text_; }

 private:
  void show(std::int32_t token);

  std::optional<std::vector<std::int32_t>> found_;  // the answer's tokens, where they are not sampled

  decode::SamplingParams sampling_;
  decode::LogitsPipeline pipeline_;
  FakeText fake_;
  std::vector<float> logits_;
  std::int64_t length_, sampled_ = 0, limit_;
  std::string text_;
  engine::FinishReason finish_ = engine::FinishReason::kNone;
};

}  // namespace millrace::simulator

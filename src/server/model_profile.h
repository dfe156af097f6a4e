#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "chat/chat_format.h"
#include "chat/reasoning/reasoning_format.h"
#include "chat/tools/tool_format.h"
#include "checkpoint/generation_config.h"
#include "decode/breaker_cache.h"
#include "engine/utilization.h"
#include "text/tokenizer.h"

namespace millrace::server {

// Everything of a model, except its engine, that the server needs to make requests from bodies and to spell answers.
// Thread-safe.
struct ModelProfile {
  const std::string name;
  const std::shared_ptr<const text::Tokenizer> tokenizer;
  const std::shared_ptr<const chat::ChatFormat> chat;  // null: the model has no template
  // How the model writes tool calls and reasoning; null where answers are not searched for them. See choose_formats().
  const chat::tools::ToolFormat* const tool_format = nullptr;
  const chat::reasoning::ReasoningFormat* const reasoning_format = nullptr;
  const checkpoint::GenerationDefaults generation;       // for what a request does not say
  const std::shared_ptr<const engine::LivePeaks> peaks;  // measured, for utilization; not null
  // Tokens of prompt and answer together; tokens; numbers of an embedding.
  const std::int64_t max_length = 0, vocab_size = 0, hidden_size = 0;
  std::shared_ptr<decode::BreakerCache> breakers;  // DRY's sequence breakers, by their texts
};

}  // namespace millrace::server

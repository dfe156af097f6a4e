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

// All of a model that bodies become requests with, and answers are spelled with; none of it is its engine. Thread-safe.
struct ModelProfile {
  const std::string name;
  const std::shared_ptr<const text::Tokenizer> tokenizer;
  const std::shared_ptr<const chat::ChatFormat> chat;  // null: the model has no template
  // How it writes calls and reasoning: null where they are not looked for. See choose_formats().
  const chat::tools::ToolFormat* const tool_format = nullptr;
  const chat::reasoning::ReasoningFormat* const reasoning_format = nullptr;
  const checkpoint::GenerationDefaults generation;
  const engine::MachinePeaks peaks;
  const std::int64_t max_length = 0, vocab_size = 0, hidden_size = 0;  // tokens, tokens, numbers of an embedding
  decode::BreakerCache breakers;
};

}  // namespace millrace::server

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

// All of a model that reading requests and writing answers need, without its engine. Thread-safe.
struct ModelProfile {
  const std::string name;
  const std::shared_ptr<const text::Tokenizer> tokenizer;
  const std::shared_ptr<const chat::ChatFormat> chat;  // null: the model has no template
  // The formats of its tool calls and reasoning; null = answers are not searched for them. See choose_formats().
  const chat::tools::ToolFormat* const tool_format = nullptr;
  const chat::reasoning::ReasoningFormat* const reasoning_format = nullptr;
  const checkpoint::GenerationDefaults generation;
  const engine::MachinePeaks peaks;
  const std::int64_t max_length = 0, vocab_size = 0, hidden_size = 0;  // tokens; tokens; dimensions of an embedding
  decode::BreakerCache breakers;
};

}  // namespace millrace::server

#pragma once

#include <functional>
#include <memory>
#include <string>

#include "chat/chat_settings.h"
#include "chat/conversation.h"
#include "chat/responder.h"

namespace millrace::app {

// A conversation with what answers it. One thread.
struct Chat {
  Conversation conversation;
  ChatSettings settings;
  std::unique_ptr<Responder> responder;
  std::int64_t context_used = 0;  // tokens of the conversation after the last answer; 0 = not known
};

// How well the conversation and an answer to it fit into the context.
struct ContextFit {
  std::int64_t tokens = 0, limit = 0;  // of the prompt; of prompt and answer
  std::int64_t room = 0;               // tokens that are to be free for the answer
  int rounds_to_drop = 0;              // oldest rounds without which it fits; 0: it fits as it is
  bool fits_then = true;               // false: the last message alone is too long
};
Result<ContextFit> context_fit(const Chat& chat);

// Answers the last message and appends the answer. After an error nothing is appended. An answer that fills the context
// ends with kLength.
Result<Answer> answer_last(Chat& chat, AnswerListener& listener);

// Whether the answer ended because the context is full, not by max_tokens.
bool filled_context(const Chat& chat, const Answer& answer);

}  // namespace millrace::app

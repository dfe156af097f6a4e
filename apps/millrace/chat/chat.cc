#include "chat/chat.h"

#include <algorithm>

namespace millrace::app {
namespace {

constexpr std::int64_t kMaxRoom = 256;  // tokens; and an eighth of the context

}  // namespace

Result<ContextFit> context_fit(const Chat& chat) {
  const auto params = chat.responder->sampling(chat.settings.sampling);
  if (!params) return params.error();
  ContextFit fit;
  fit.limit = chat.responder->context_tokens();
  fit.room = std::max<std::int64_t>(1, std::min({params->max_tokens, fit.limit / 8, kMaxRoom}));
  Conversation shorter = chat.conversation;
  for (const int rounds = shorter.rounds();; shorter.drop_oldest_round(), ++fit.rounds_to_drop) {
    const auto tokens = chat.responder->count_tokens(shorter.messages());
    if (!tokens) return tokens.error();
    if (fit.rounds_to_drop == 0) fit.tokens = *tokens;
    if (*tokens + fit.room <= fit.limit) return fit;
    if (fit.rounds_to_drop + 1 >= rounds) {
      fit.fits_then = *tokens < fit.limit;  // with less room than one would like
      return fit;
    }
  }
}

Result<Answer> answer_last(Chat& chat, AnswerListener& listener) {
  auto answer = chat.responder->answer(chat.conversation.messages(), chat.settings.sampling, listener);
  if (!answer) return answer;
  chat.conversation.add_assistant(answer->text, answer->reasoning);
  chat.context_used = answer->prompt_tokens + answer->output_tokens;
  return answer;
}

bool filled_context(const Chat& chat, const Answer& answer) {
  return answer.finish == engine::FinishReason::kLength && chat.responder->context_tokens() > 0 &&
         answer.prompt_tokens + answer.output_tokens >= chat.responder->context_tokens();
}

}  // namespace millrace::app

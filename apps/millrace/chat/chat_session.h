#pragma once

#include <functional>
#include <string>

#include "chat/conversation.h"
#include "engine/engine.h"
#include "engine/utilization.h"

namespace millrace::app {

// One finished answer.
struct Answer {
  std::string text;
  engine::FinishReason finish = engine::FinishReason::kNone;
  engine::RequestStats stats;
  engine::TimeSpent spent;
};

// A conversation on an engine session: earlier rounds stay in the KV cache and only new tokens are computed.
class ChatSession {
 public:
  ChatSession(Conversation& conversation, engine::Engine& engine, decode::SamplingParams sampling)
      : conversation_(conversation),
        engine_(engine),
        sampling_(std::move(sampling)),
        session_(engine.sessions().open()) {}
  ~ChatSession() { engine_.sessions().close(session_); }
  ChatSession(const ChatSession&) = delete;
  ChatSession& operator=(const ChatSession&) = delete;

  // Generates the next answer, passes its text to `on_text` piece by piece, and appends it to the conversation.
  // `interrupted` is called between steps; true cancels the answer.
  Result<Answer> answer(const std::function<void(const std::string&)>& on_text,
                        const std::function<bool()>& interrupted);

  decode::SamplingParams& sampling() noexcept { return sampling_; }
  // The grammar that each answer fits; null: any text.
  void set_grammar(std::shared_ptr<grammar::CompiledGrammar> grammar) { grammar_ = std::move(grammar); }
  Conversation& conversation() noexcept { return conversation_; }

 private:
  Conversation& conversation_;
  engine::Engine& engine_;
  decode::SamplingParams sampling_;
  std::shared_ptr<grammar::CompiledGrammar> grammar_;
  engine::SessionId session_;
};

// "prompt 52 cached + 14 new tokens, answer 31 tokens, TTFT 24.0 ms, TPOT 4.10 ms, 243.9 tok/s, MBU 52 % of 40.0 GB/s".
// Without MBU if the machine's read bandwidth is not known.
std::string describe(const Answer& answer, const engine::MachinePeaks& peaks);

}  // namespace millrace::app

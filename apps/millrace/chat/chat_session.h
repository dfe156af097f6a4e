#pragma once

#include <functional>
#include <string>

#include "chat/conversation.h"
#include "engine/engine.h"
#include "engine/utilization.h"

namespace millrace::app {

// A finished answer.
struct Answer {
  std::string text;
  engine::FinishReason finish = engine::FinishReason::kNone;
  engine::RequestStats stats;
  engine::TimeSpent spent;
};

// A conversation on a session of an engine: the KV cache keeps earlier messages, and only new tokens are computed.
// Conversation and engine must outlive it. One thread; while answer() runs, the engine must have no other requests.
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

  // Answers the conversation: passes text to `on_text` as it comes, and appends the whole answer to the conversation.
  // Calls `interrupted` before each step; true cancels the answer, whose text so far is appended. After an error
  // nothing is appended. Steps the engine on the calling thread.
  Result<Answer> answer(const std::function<void(const std::string&)>& on_text,
                        const std::function<bool()>& interrupted);

  decode::SamplingParams& sampling() noexcept { return sampling_; }
  // The grammar of further answers; null: any text. Shares ownership.
  void set_grammar(std::shared_ptr<grammar::CompiledGrammar> grammar) { grammar_ = std::move(grammar); }
  Conversation& conversation() noexcept { return conversation_; }

 private:
  Conversation& conversation_;
  engine::Engine& engine_;
  decode::SamplingParams sampling_;
  std::shared_ptr<grammar::CompiledGrammar> grammar_;
  engine::SessionId session_;
};

// A line such as "prompt 52 cached + 14 new tokens, answer 31 tokens, TTFT 24.0 ms, TPOT 4.10 ms, 243.9 tok/s, MBU 52 %
// of 40.0 GB/s". MBU is left out if `peaks` has no read bandwidth.
std::string describe(const Answer& answer, const engine::MachinePeaks& peaks);

}  // namespace millrace::app

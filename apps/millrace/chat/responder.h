#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "chat/answer_parts.h"
#include "chat/sampling_flags.h"
#include "engine/request.h"

namespace millrace::app {

// A finished answer.
struct Answer {
  std::string text, reasoning;
  engine::FinishReason finish = engine::FinishReason::kNone;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
};

// What happens while an answer is made.
class AnswerListener {
 public:
  virtual ~AnswerListener() = default;
  virtual void on_prompt(std::int64_t done, std::int64_t total) = 0;  // tokens of the prompt that are computed
  virtual void on_part(const chat::PartEvent& part) = 0;              // reasoning or text of the answer
  virtual bool interrupted() = 0;                                     // true ends the answer
};

// Answers conversations: a model in this process, or a server. One thread.
class Responder {
 public:
  virtual ~Responder() = default;
  // Answers the messages, a list of {"role", "content"}. An interrupted answer has what came so far, with kCancelled.
  // The error is the template's, or kContextLength if the prompt leaves no room.
  virtual Result<Answer> answer(const nlohmann::ordered_json& messages, const SamplingFlags& sampling,
                                AnswerListener& listener) = 0;
  // Tokens of the prompt that these messages make. The error is the template's, or kUnsupported where that cannot be
  // told.
  virtual Result<std::int64_t> count_tokens(const nlohmann::ordered_json& messages) = 0;
  virtual std::string last_stats() = 0;  // counts and times of the last answer in one line; empty: there is none
  virtual std::int64_t context_tokens() const = 0;  // limit of prompt and answer together; 0 = unknown
  // The parameters that an answer is sampled with. kInvalidArgument names the one that is out of range.
  virtual Result<decode::SamplingParams> sampling(const SamplingFlags& flags) const = 0;
  virtual std::string model_name() const = 0;     // as the user gave it
  virtual std::string description() const = 0;    // one line: the model, its size, the device
  virtual std::string chat_template() const = 0;  // empty: there is none
};

}  // namespace millrace::app

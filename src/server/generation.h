#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "chat/answer_parts.h"
#include "chat/answer_reader.h"
#include "engine/request.h"
#include "server/api_error.h"
#include "server/caller.h"
#include "server/generation_fields.h"
#include "server/model_profile.h"
#include "server/schema.h"

namespace millrace::server {

// A request ready for the engine: what was asked for, in the model's terms.
struct GenerationTask {
  std::shared_ptr<ModelProfile> model;
  std::string request_id;
  std::int64_t created = 0;  // Unix time
  std::string route, trace_parent;
  TimePoint received{};
  Caller caller;
  GenerationFields fields;
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::string> prompt_texts;         // [prompts]; "" where ids were given
  chat::AnswerReading reading;                   // how answers are taken apart
  std::vector<engine::Request> requests;         // one a prompt; given away when submitted
  std::vector<decode::SamplingParams> sampling;  // of the first of them, for logs and traces
  std::optional<engine::SessionId> session;
  std::vector<std::string> left_out;  // of schemas, where that was asked for: places of what no grammar can express
};

// One answer as far as it has come.
struct Answer {
  std::size_t index = 0, prompt = 0;  // index = prompt * n + choice
  std::string text;
  chat::AnswerParts parts;  // of the text, where the route asks for them
  std::vector<std::int32_t> tokens;
  std::int64_t reasoning_tokens = 0;              // of these
  std::vector<engine::TokenScore> scores;         // [tokens], where asked for
  std::vector<engine::TokenScore> prompt_scores;  // see engine::Output
  std::vector<float> embedding;
  engine::FinishReason finish = engine::FinishReason::kNone;
  engine::StopReason stop_reason;
  engine::RequestStats stats;
  engine::TimeSpent spent;  // once it has ended
  engine::RequestId engine_request = 0;
};

// What an answer gained in a step, or a few.
struct Piece {
  std::string text;
  std::vector<chat::PartEvent> events;  // what it says, where the route asks for parts
  std::vector<std::int32_t> tokens;
  std::vector<engine::TokenScore> scores;
};

// How answers are spelled: an API's objects and events. One per request; its calls come in the order begin, add ...,
// end, or begin, add ..., fail for a stream, and whole or nothing else otherwise.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  virtual void begin(std::string& out) = 0;
  // `answer` has the piece already; its finish is set with its last one.
  virtual void add(const Answer& answer, const Piece& piece, std::string& out) = 0;
  virtual void end(const std::vector<Answer>& answers, std::string& out) = 0;
  virtual void fail(const ApiError& error, std::string& out) = 0;
  virtual std::string_view keep_alive() const noexcept { return ": keep-alive\n\n"; }

  virtual Json whole(const std::vector<Answer>& answers) = 0;
};

// How the bodies of a route become tasks. Stateless; any thread. Errors name the field.
class TaskReader {
 public:
  virtual ~TaskReader() = default;
  // Needs no model. What of the body is not done is added to `notes`.
  virtual Result<void> read(const Json& body, GenerationFields& to, FieldNotes& notes) const = 0;
  // Fills prompts, prompt_texts and requests of a task whose model and fields are there.
  virtual Result<void> prepare(GenerationTask& task) const = 0;
};

// A route that makes text, and how its answers are spelled.
class GenerationRoute : public TaskReader {
 public:
  virtual Dialect dialect() const noexcept { return Dialect::kOpenAi; }
  virtual std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const = 0;
};

// A route that answers with what became of its prompt, and makes nothing: its tasks have no requests.
class PromptRoute : public TaskReader {
 public:
  virtual Json answer(const GenerationTask& task) const = 0;
};

// What routes have in common: one engine request per prompt of `task`, from its fields. `default_max_tokens` where
// none was named. kContextLength where a prompt leaves no room.
Result<void> make_requests(GenerationTask& task, std::int64_t default_max_tokens);

}  // namespace millrace::server

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

// A request on its way to the engine: its fields, prompts as tokens, and the engine requests made of them.
struct GenerationTask {
  std::shared_ptr<ModelProfile> model;
  std::string request_id;
  std::int64_t created = 0;  // Unix time
  std::string route, trace_parent;
  TimePoint received{};
  Caller caller;
  GenerationFields fields;
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::string> prompt_texts;         // [prompts]; "" for prompts given as ids
  chat::AnswerReading reading;                   // how answers are split into content, reasoning and calls
  std::vector<engine::Request> requests;         // [prompts]; moved out when submitted
  std::vector<decode::SamplingParams> sampling;  // of the first request, for logs and traces
  std::optional<engine::SessionId> session;
  std::vector<std::string> left_out;  // places in schemas that no grammar can express, if the request allows that
};

// One answer so far.
struct Answer {
  std::size_t index = 0, prompt = 0;  // index = prompt * n + choice
  std::string text;
  chat::AnswerParts parts;  // parts of `text`, if the route splits it
  std::vector<std::int32_t> tokens;
  std::int64_t reasoning_tokens = 0;              // how many of `tokens` are reasoning
  std::vector<engine::TokenScore> scores;         // [tokens]; empty without logprobs
  std::vector<engine::TokenScore> prompt_scores;  // see engine::Output
  std::vector<float> embedding;
  engine::FinishReason finish = engine::FinishReason::kNone;
  engine::StopReason stop_reason;
  engine::RequestStats stats;
  engine::TimeSpent spent;  // valid after its end
  engine::RequestId engine_request = 0;
};

// The part of an answer that one or a few steps added.
struct Piece {
  std::string text;
  std::vector<chat::PartEvent> events;  // changes of the parts, if the route splits the text
  std::vector<std::int32_t> tokens;
  std::vector<engine::TokenScore> scores;
};

// Writes answers as an API's objects and events. One object for each request. A stream calls begin(), add() for each
// piece, then end() or fail(). A request without stream calls whole() alone.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  virtual void begin(std::string& out) = 0;
  // `answer` contains the piece already. Its finish is set with its last piece.
  virtual void add(const Answer& answer, const Piece& piece, std::string& out) = 0;
  virtual void end(const std::vector<Answer>& answers, std::string& out) = 0;
  virtual void fail(const ApiError& error, std::string& out) = 0;
  virtual std::string_view keep_alive() const noexcept { return ": keep-alive\n\n"; }

  virtual Json whole(const std::vector<Answer>& answers) = 0;
};

// Makes tasks from the bodies of a route. Stateless; any thread. Errors name the field.
class TaskReader {
 public:
  virtual ~TaskReader() = default;
  // Reads the body into fields, without a model. Adds fields that have no effect to `notes`.
  virtual Result<void> read(const Json& body, GenerationFields& to, FieldNotes& notes) const = 0;
  // Fills prompts, prompt_texts and requests of a task with model and fields.
  virtual Result<void> prepare(GenerationTask& task) const = 0;
};

// A route that generates text, with the format of its answers.
class GenerationRoute : public TaskReader {
 public:
  virtual Dialect dialect() const noexcept { return Dialect::kOpenAi; }
  virtual std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const = 0;
};

// A route that answers with its prompt alone, such as tokenize. Its tasks have no requests.
class PromptRoute : public TaskReader {
 public:
  virtual Json answer(const GenerationTask& task) const = 0;
};

// Makes one engine request for each prompt of the task, from its fields. `default_max_tokens` applies if the request
// names no limit. kContextLength if a prompt leaves no room for an answer.
Result<void> make_requests(GenerationTask& task, std::int64_t default_max_tokens);

}  // namespace millrace::server

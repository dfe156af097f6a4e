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

// A generation request, from its fields to what engines take. One thread at a time.
struct GenerationTask {
  std::shared_ptr<ModelProfile> model;
  std::string adapter;  // that the request named as its model; empty: none
  std::string request_id;
  std::int64_t created = 0;         // Unix time in seconds
  std::string route, trace_parent;  // the path; the header `traceparent` as it came, which may be empty or wrong
  TimePoint received{};
  Caller caller;
  GenerationFields fields;
  std::vector<std::vector<std::int32_t>> prompts;  // tokens
  std::vector<std::string> prompt_texts;           // [prompts]; "" for token ids and for rendered conversations
  chat::AnswerReading reading;                     // how answers split into content, reasoning and calls
  std::vector<engine::Request> requests;           // [prompts]; moved from when they are submitted
  std::vector<decode::SamplingParams> sampling;    // that of requests[0], for logs and traces; empty until submitted
  std::optional<engine::SessionId> session;
  std::vector<std::string> left_out;  // places in schemas of keywords that the compiled grammar ignores

  // What the answer calls its model.
  const std::string& model_name() const noexcept { return adapter.empty() ? model->name : adapter; }
};

// One answer: everything that has come of it so far.
struct Answer {
  // index = prompt * c + choice, with c choices for each prompt: in Collector::answers() those that the engine makes
  // (max of n and best_of; n for beam search), in Collector::chosen() n.
  std::size_t index = 0, prompt = 0;
  std::string text;
  chat::AnswerParts parts;  // the text split into parts, where task.reading.parts; else empty
  std::vector<std::int32_t> tokens;
  std::int64_t reasoning_tokens = 0;              // how many of `tokens` are reasoning
  std::vector<engine::TokenScore> scores;         // [tokens], where logprobs were requested; else empty
  std::vector<engine::TokenScore> prompt_scores;  // see engine::Output
  std::vector<float> embedding;
  engine::FinishReason finish = engine::FinishReason::kNone;
  engine::StopReason stop_reason;
  engine::RequestStats stats;
  engine::TimeSpent spent;               // set once the answer has ended
  engine::RequestId engine_request = 0;  // 0: no output has come
};

// What one answer gained in one step, or in several where fields.stream_interval is above 1.
struct Piece {
  std::string text;
  std::vector<chat::PartEvent> events;  // the text as events of parts, where task.reading.parts; else empty
  std::vector<std::int32_t> tokens;
  std::vector<engine::TokenScore> scores;
};

// Spells answers as an API's objects and server-sent events. There is one per request, used by the connection's thread.
// For a stream the calls are begin(), add() any number of times, and end() or fail(), each of which appends to `out`.
// Otherwise whole() is the only call, or none comes at all.
class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  virtual void begin(std::string& out) = 0;
  // `answer` contains `piece` already; its finish is not kNone with its last piece.
  virtual void add(const Answer& answer, const Piece& piece, std::string& out) = 0;
  virtual void end(const std::vector<Answer>& answers, std::string& out) = 0;
  virtual void fail(const ApiError& error, std::string& out) = 0;
  // Bytes that a stream sends while no token comes, so that proxies keep it open.
  virtual std::string_view keep_alive() const noexcept { return ": keep-alive\n\n"; }

  // The body of a reply that is not a stream; `answers` are those of Collector::chosen().
  virtual Json whole(const std::vector<Answer>& answers) = 0;
};

// Makes tasks from the bodies of a route. Stateless; any thread. Errors name the field.
class TaskReader {
 public:
  virtual ~TaskReader() = default;
  // Reads the body into fields; needs no model. Adds to `notes` the names of fields that are taken and ignored.
  virtual Result<void> read(const Json& body, GenerationFields& to, FieldNotes& notes) const = 0;
  // Fills prompts, prompt_texts, reading and, except for a PromptRoute, requests of a task whose model and fields are
  // set.
  virtual Result<void> prepare(GenerationTask& task) const = 0;
};

// A route that generates answers (text or embeddings), and the format of its answers.
class GenerationRoute : public TaskReader {
 public:
  virtual Dialect dialect() const noexcept { return Dialect::kOpenAi; }
  // A format for the task's answers. `task` outlives it.
  virtual std::unique_ptr<AnswerFormat> format(const GenerationTask& task) const = 0;
};

// A route that answers with its prompt alone, for example with the number of its tokens. Its tasks have no requests.
class PromptRoute : public TaskReader {
 public:
  virtual Json answer(const GenerationTask& task) const = 0;
};

// Appends to task.requests one engine request for each prompt, from the task's fields, and truncates the prompts as
// truncate_prompt_tokens says. An answer may have default_max_tokens where the request names no maximum. kContextLength
// naming prompt or max_tokens where prompt and answer do not fit in the model's max_length; kInvalidArgument naming the
// field for a token id outside the vocabulary and for an empty prompt; kUnsupported naming thinking_token_budget.
Result<void> make_requests(GenerationTask& task, std::int64_t default_max_tokens);

}  // namespace millrace::server

#pragma once

// The library: load a model, make an engine on it, submit requests, read their streams.
//
//   namespace mr = millrace::api;
//   auto model = mr::Model::load({.path = "model.gguf"});
//   auto engine = mr::Engine::create(*model);
//   auto stream = engine->submit({.prompt = "Once upon a time", .max_tokens = 32});
//   while (!stream->done()) std::cout << stream->next()->text;   // a program must check each Result for an error
//
// No function that returns a Result throws. An answer never depends on what else is computed: a request gets the same
// tokens alone and in a full batch. Model and Engine are handles: a copy refers to the same model or engine. A
// moved-from handle or stream may only be assigned to or destroyed.

#include <millrace/config.h>
#include <millrace/result.h>
#include <millrace/version.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::api {

// The version of the linked library. MILLRACE_VERSION is that of the headers.
const char* version() noexcept;

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };
// Sets the lowest level that is logged, kWarn by default, and where lines go: to `sink`, or to stderr if it is empty.
// The sink is called on any thread, and must not log, throw, or block for long. Applies to the whole process.
// Thread-safe.
using LogSink = std::function<void(LogLevel, std::string_view line)>;
void set_log(LogLevel least, LogSink sink = {}) noexcept;

// A message of a chat. The model's chat template defines the roles, mostly "system", "user" and "assistant". The text
// of a special token in the content is ordinary text.
struct Message {
  std::string role = {}, content = {};
};
using Chat = std::vector<Message>;

// A model in memory: its weights, tokenizer and chat template. Thread-safe. The memory is freed when its last handle,
// engine and stream are destroyed.
class Model {
 public:
  // Reads and packs the weights on the calling thread and the model's threads. Takes seconds for gigabytes, and about
  // as much memory as the file. Calls `progress` on the calling thread with the share that is done, in [0, 1]; it must
  // not throw. Errors: kInvalidArgument naming a field of `config`; kNotFound, kUnsupported or kBadFile for the model's
  // files; kResourceExhausted if memory is short.
  static Result<Model> load(const ModelConfig& config, const std::function<void(double share)>& progress = {}) noexcept;

  std::string description() const;  // for people: "q4_1 (avx512_vnni int8)"
  std::int64_t vocab_size() const noexcept;
  std::int64_t max_length() const noexcept;  // tokens of a sequence, prompt and answer together
  bool has_chat_template() const noexcept;

  // The tokens of a text prompt, as submit() makes them: with the tokens that the tokenizer adds at the ends, such as
  // BOS. Special tokens in the text are recognized. Takes time linear in the text.
  Result<std::vector<std::int32_t>> tokenize(std::string_view text) const noexcept;
  // The tokens of a chat prompt, as submit() makes them. kUnsupported if the model has no chat template; other errors
  // are the template's.
  Result<std::vector<std::int32_t>> tokenize(const Chat& chat) const noexcept;

 private:
  friend class Engine;
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// A constraint on the text of an answer (docs/grammar.md, docs/json_schema.md).
struct Grammar {
  // "json_schema", "json_object", "regex", "ebnf" (GBNF or Lark), "choice", "structural_tag"
  std::string language = {};
  std::string text = {};  // at most 64 KiB
};

struct Request {
  // A text to continue, token ids in [0, vocab_size()), or a chat for the model's template (kUnsupported if it has
  // none). 1 to Engine::max_length() - 1 tokens.
  std::variant<std::string, std::vector<std::int32_t>, Chat> prompt = {};
  // Limit of tokens of the answer, at least 1. Prompt and answer together have at most Engine::max_length() tokens,
  // else the error is kContextLength. Nothing: as many as fit.
  std::optional<std::int64_t> max_tokens = {};

  // Sampling options by the names in docs/decode.md, which has their ranges too: {"temperature", 0.7}. Options that are
  // not given have the model's default (generation_config.json), or else no effect. "temperature" of 0 samples the
  // likeliest token.
  std::map<std::string, double> sampling = {};
  std::optional<std::uint64_t> seed = {};  // the same seed gives the same answer; nothing: random
  std::vector<std::string> stop = {};      // the answer ends before the first of these texts
  bool ignore_eos = false;                 // continue past end-of-sequence tokens, up to max_tokens

  // submit() compiles it on the calling thread, in milliseconds to at most 2 seconds. The engine caches compiled
  // grammars.
  std::optional<Grammar> grammar = {};

  int priority = 0;  // lower is more urgent; only some scheduling policies use it
  // Milliseconds from submission after which an unfinished answer ends with kTimeout, (0, 1e9]; nothing: no limit.
  std::optional<double> timeout_ms = {};
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kTimeout };

// What one step of the engine produced for a request.
struct Output {
  // New text of the answer, complete UTF-8 characters. Empty while a character or a possible stop text is incomplete.
  std::string text = {};
  std::optional<std::int32_t> token = {};     // sampled in this step
  FinishReason finish = FinishReason::kNone;  // other than kNone: this is the last output

  // Counts of tokens and times so far, final in the last output. `cached_tokens` are those of the prompt that the
  // prefix cache had.
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  double ttft_ms = 0.0;  // milliseconds from submission to the first token; 0 before it
  double tpot_ms = 0.0;  // mean milliseconds between tokens; 0 before the second token
};

// The answer to one request. One thread at a time may call next(); any thread may call done() and cancel() meanwhile.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();  // cancels the request if it has not ended

  // Waits for the next output. An error ends the stream; if the engine rejects the request, the first call returns the
  // error. kInvalidArgument after the end of the stream.
  Result<Output> next() noexcept;
  bool done() const noexcept;  // next() has returned the last output or an error
  // Asks the engine to end the request, which it does within a step. Does not wait: the stream still gets a last
  // output, with kCancelled unless the answer ended before.
  void cancel() noexcept;

 private:
  friend class Engine;
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// Computes the answers of many requests together, on a thread of its own and the model's threads. Thread-safe. Lives
// until its last handle and stream are destroyed.
class Engine {
 public:
  // Loads the draft model, allocates the KV cache and computes a few dozen tokens to warm up, on the calling thread.
  // kUnavailable if the model has an engine already, kInvalidArgument naming a field of `config`, kResourceExhausted if
  // memory is short.
  static Result<Engine> create(const Model& model, const EngineConfig& config = {}) noexcept;

  // Tokenizes the prompt and compiles the grammar on the calling thread, and queues the request without waiting for the
  // engine. Errors of the request are returned here or by the first next() of the stream. The latter returns
  // kResourceExhausted if 1024 requests wait already.
  Result<Stream> submit(const Request& request) noexcept;

  std::int64_t max_length() const noexcept;          // limit of tokens of a sequence, by model and KV cache
  std::int64_t kv_capacity_tokens() const noexcept;  // tokens that the KV cache holds

 private:
  struct Impl;
  friend class Stream;
  explicit Engine(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::api

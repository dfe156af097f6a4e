#pragma once

// millrace in a program: load a model, make an engine on it, submit requests, read their streams.
//
//   namespace mr = millrace::api;
//   auto model = mr::Model::load({.path = "model.gguf"});
//   auto engine = mr::Engine::create(*model);
//   auto stream = engine->submit({.prompt = "Once upon a time", .max_tokens = 32});
//   while (!stream->done()) std::cout << stream->next()->text;   // each of these may be an error instead
//
// No function throws. An answer never depends on what else is computed: a request gets the same tokens alone and in a
// full batch. Objects are handles: a copy is the same model or engine, and a moved-from one may only be assigned to or
// destroyed.

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

// The version of the library that is linked: MILLRACE_VERSION of the headers that it was built with.
const char* version() noexcept;

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };
// Lines of that level and above go to `sink`, else to stderr. kWarn until this is called. The sink is called on any
// thread, must not log, block for long or throw. For the whole process; thread-safe.
using LogSink = std::function<void(LogLevel, std::string_view line)>;
void set_log(LogLevel least, LogSink sink = {}) noexcept;

// One message of a chat. Roles are the template's: mostly "system", "user", "assistant". Special tokens in the content
// are text like any other.
struct Message {
  std::string role = {}, content = {};
};
using Chat = std::vector<Message>;

// A model in memory: its weights, tokenizer and chat template. Thread-safe. The memory is given back with the last
// handle, engine and stream.
class Model {
 public:
  // Reads and packs the weights on the calling thread and the model's own: seconds for gigabytes, and about as much
  // memory as the file has. `progress` is told the share that is done, [0, 1], on the calling thread; must not throw.
  static Result<Model> load(const ModelConfig& config, const std::function<void(double share)>& progress = {}) noexcept;

  std::string description() const;  // for people: "q4_1 (avx512_vnni int8)"
  std::int64_t vocab_size() const noexcept;
  std::int64_t max_length() const noexcept;  // tokens of a sequence, prompt and answer together
  bool has_chat_template() const noexcept;

  // The tokens that a text prompt becomes: with those that the vocabulary asks for at its ends, special tokens in the
  // text recognised. Time linear in the text.
  Result<std::vector<std::int32_t>> tokenize(std::string_view text) const noexcept;
  // The prompt that a chat becomes.
  Result<std::vector<std::int32_t>> tokenize(const Chat& chat) const noexcept;

 private:
  friend class Engine;
  struct Impl;
  explicit Model(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

// What an answer must fit: docs/grammar.md and docs/json_schema.md.
struct Grammar {
  // "json_schema", "json_object", "regex", "ebnf" (GBNF or Lark), "choice", "structural_tag"
  std::string language = {};
  std::string text = {};  // at most 64 KiB
};

struct Request {
  // A text to go on with, token ids in [0, vocab_size), or a chat for the model's template (kUnsupported without one).
  // Not empty; at most max_length() - 1 tokens.
  std::variant<std::string, std::vector<std::int32_t>, Chat> prompt = {};
  std::optional<std::int64_t> max_tokens = {};  // of the answer, at least 1; nothing: as many as fit

  // Options of sampling by name, names and ranges as docs/decode.md has them: {"temperature", 0.7}. What is not named
  // is the model's own, or else of no effect; "temperature" of 0 takes the likeliest token.
  std::map<std::string, double> sampling = {};
  std::optional<std::uint64_t> seed = {};  // the same seed gives the same answer; nothing: random
  std::vector<std::string> stop = {};      // the answer ends before the first of these texts
  bool ignore_eos = false;                 // go on past the model's own end, up to max_tokens

  // Compiled on the thread that submits, milliseconds to at most 2 seconds; the model remembers it.
  std::optional<Grammar> grammar = {};

  int priority = 0;  // lower is more urgent, for the policies that go by it
  // Milliseconds after which the answer ends with kTimeout if it has not ended; (0, 1e9].
  std::optional<double> timeout_ms = {};
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kTimeout };

// What one step did for a request.
struct Output {
  // The text that came with it, whole UTF-8; may be empty: a character or a stop text may be about to end.
  std::string text = {};
  std::optional<std::int32_t> token = {};     // sampled in this step
  FinishReason finish = FinishReason::kNone;  // other than kNone: this is the last output

  // Counts and times so far; final with the last output.
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  double ttft_ms = 0.0;  // from submission to the first token; 0 before there is one
  double tpot_ms = 0.0;  // mean time between tokens; 0 before there are two
};

// The answer to one request. One thread at a time reads it; cancel() may be called by another meanwhile.
class Stream {
 public:
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream();  // cancels what has not ended

  // Waits for the next output. What the engine refuses is the error of the first call; an error ends the stream. After
  // the end: kInvalidArgument.
  Result<Output> next() noexcept;
  bool done() const noexcept;  // the last output or an error was taken
  // Ends the request within a step; the stream still gets its last output, with kCancelled.
  void cancel() noexcept;

 private:
  friend class Engine;
  struct Impl;
  explicit Stream(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

// Computes the answers of any number of requests together, on a thread of its own and the threads of the model.
// Thread-safe. Lives as long as a handle or a stream of it.
class Engine {
 public:
  // Takes the memory of the KV cache and computes a few dozen tokens to warm up. A model has one engine at a time:
  // kUnavailable while there is another.
  static Result<Engine> create(const Model& model, const EngineConfig& config = {}) noexcept;

  // Tokenizes and compiles on the calling thread, and hands the request over without waiting for it or for others. What
  // is wrong with the request is an error here or of the stream's first next(): kResourceExhausted where 1024 requests
  // wait already.
  Result<Stream> submit(const Request& request) noexcept;

  std::int64_t max_length() const noexcept;          // tokens of a sequence, by the model and the KV cache
  std::int64_t kv_capacity_tokens() const noexcept;  // of the KV cache

 private:
  struct Impl;
  friend class Stream;
  explicit Engine(std::shared_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
  std::shared_ptr<Impl> impl_;
};

}  // namespace millrace::api

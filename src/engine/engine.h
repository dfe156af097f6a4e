#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/env.h"
#include "decode/logits_pipeline.h"
#include "decode/stop_matcher.h"
#include "kv/block_pool.h"
#include "kv/kv_store.h"
#include "model/transformer.h"
#include "sched/scheduler.h"
#include "text/detokenizer.h"

namespace millrace::engine {

struct Config {
  backend::KvPageForm kv_pages;
  std::int64_t kv_cache_tokens = 0;  // 0 = one sequence of the model's greatest length
  sched::Config scheduling;
};

using RequestId = sched::SequenceId;
using SessionId = std::uint64_t;

struct Request {
  std::vector<std::int32_t> tokens;  // the prompt
  decode::SamplingParams sampling;
  std::optional<SessionId> session;  // keep keys and values for the next request of this session
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kError };
std::string_view to_string(FinishReason reason) noexcept;

// Counts and times of one request; TTFT = first_token - arrival, TPOT = (last_token - first_token) / (output_tokens -
// 1).
struct RequestStats {
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  TimePoint arrival{}, first_token{}, last_token{};
  double ttft_ms() const { return milliseconds_between(arrival, first_token); }
  double tpot_ms() const {
    return output_tokens > 1 ? milliseconds_between(first_token, last_token) / static_cast<double>(output_tokens - 1)
                             : 0.0;
  }
};

// What a step did for one request.
struct Output {
  RequestId request = 0;
  std::optional<std::int32_t> token;  // drawn in this step
  std::string text;                   // that may be shown now; whole UTF-8
  FinishReason finish = FinishReason::kNone;
  std::optional<Error> error;  // with kError
  RequestStats stats;          // final once finish != kNone
};

// The step loop: any number of requests advance together, each as if it were alone (law 3). One thread calls it.
class Engine {
 public:
  // The transformer, tokenizer, backend and env must outlive it. kResourceExhausted if the KV cache does not fit.
  static Result<std::unique_ptr<Engine>> create(model::Transformer& model,
                                                std::shared_ptr<const text::Tokenizer> tokenizer,
                                                backend::Backend& backend, Env& env, const Config& config);

  SessionId open_session();
  void close_session(SessionId session);

  // Accepts the request or says what is wrong with it; nothing changes then. A session has one request at a time.
  Result<RequestId> submit(Request request);
  void cancel(RequestId id);
  bool idle() const noexcept { return requests_.empty(); }

  // Runs one step; empty when idle.
  std::vector<Output> step();

  std::size_t kv_bytes() const noexcept { return store_.bytes(); }
  std::size_t kv_bytes_per_token() const noexcept;
  std::int64_t kv_capacity_tokens() const noexcept;
  std::int64_t kv_free_tokens() const noexcept;  // sessions hold theirs until closed

 private:
  struct Session {
    std::vector<std::int32_t> tokens;  // whose keys and values are in blocks
    kv::BlockTable blocks;
    bool busy = false;
  };
  struct Running {  // what the engine keeps of a request besides its Sequence
    decode::SamplingParams sampling;
    decode::LogitsPipeline pipeline;
    text::Detokenizer detokenizer;
    decode::StopMatcher stops;
    std::optional<SessionId> session;
    RequestStats stats;
    bool cancelled = false;
  };

  Engine(model::Transformer& model, std::shared_ptr<const text::Tokenizer> tokenizer, Env& env, const Config& config,
         kv::KvStore store, std::int32_t pages);
  Result<void> validate(const Request& request) const;
  model::BatchInput gather(const sched::StepPlan& plan) const;
  Output commit_token(const sched::StepRow& row, std::span<const float> logits);
  void finish(RequestId id, FinishReason reason, Output& output);
  bool ends_answer(std::int32_t token) const;

  model::Transformer& model_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  Env& env_;
  kv::KvStore store_;
  kv::BlockPool pool_;
  sched::Scheduler scheduler_;
  std::unordered_map<RequestId, Running> requests_;
  std::unordered_map<SessionId, Session> sessions_;
  std::uint64_t next_id_ = 1;
};

}  // namespace millrace::engine

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/env.h"
#include "base/result.h"
#include "decode/beam_search.h"
#include "decode/sampling_params.h"
#include "decode/token_score.h"
#include "engine/time_spent.h"
#include "kv/prefix_scope.h"

namespace millrace::chat {
struct AnswerGrammar;  // chat/answer_grammar.h
}  // namespace millrace::chat

namespace millrace::model {
class Adapter;  // model/adapters/adapter.h
}  // namespace millrace::model

namespace millrace::engine {

using RequestId = std::uint64_t;
using SessionId = std::uint64_t;
using decode::TokenLogprob;
using decode::TokenScore;

inline constexpr int kMaxChoices = 16;          // limit of answers to a request
inline constexpr std::size_t kMaxAdapters = 4;  // limit of adapters of a request

// An adapter that the tokens of a request go through: all, or those from the invocation of an activated one on.
struct AdapterUse {
  std::string key;                                // model::Adapter::key()
  float scale = 1.0f;                             // factor of what it adds
  std::shared_ptr<const model::Adapter> adapter;  // null: the engine gets it by its key
};
// How an embedding is made of the final norm's outputs: that of the last token, or the mean over all tokens.
enum class Pooling { kLast, kMean };

// A request. Plain data: a copy of its members is the same request, also in another thread or process. Objects that it
// points to are immutable, and shared as they may be large. check_request() checks all ranges.
struct Request {
  // The prompt; with append_to_session the tokens that follow on those of the session. Not empty.
  std::vector<std::int32_t> tokens;
  decode::SamplingParams sampling;
  std::shared_ptr<const chat::AnswerGrammar> grammar;  // source of the grammar of each answer; null: none
  std::vector<AdapterUse> adapters;                    // different ones, at most kMaxAdapters, added in this order
  int n = 1;  // answers to the same prompt, [1, kMaxChoices]; answer i is sampled with seed + i

  // Beam search for the n likeliest answers instead of sampling n. `sampling` gives stop conditions, length, bans, bias
  // and penalties. All output comes at the end of the search. Not in a session.
  std::optional<decode::BeamOptions> beams;

  // Score the prompt tokens, and list so many of the likeliest tokens at each position, [0, 20]. The prompt is computed
  // as a whole, even if the prefix cache has it. Not in a session.
  std::optional<int> prompt_logprobs;
  // Return the embedding of the prompt and no answer; n must be 1, `sampling` has no effect. Not in a session.
  bool embed = false;
  Pooling pooling = Pooling::kLast;

  std::optional<SessionId> session;  // keeps tokens and pages for the next request; must be open and idle
  bool append_to_session = false;

  std::optional<std::int64_t>
      draft_tokens;  // limit of draft tokens in a step, 0 = no speculation; nothing = the engine's limit
  std::optional<int>
      draft_branches;  // limit of branches of a draft tree, [1, draft::kMaxBranches]; nothing = the engine's limit

  int priority = 0;                                   // lower is more urgent
  std::uint32_t tenant = 0;                           // number of the tenant, for policies that share fairly
  std::string cache_salt;                             // pages are shared only among requests of equal salt and adapter
  kv::Retention retention = {};                       // of its published pages
  std::optional<double> timeout_ms;                   // an answer that has not ended by then ends with kTimeout
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // for policies that use them; 0 = none
  std::int64_t expected_tokens = 0;                   // expected length of the answer; 0 = unknown
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kTimeout, kError };
std::string_view to_string(FinishReason reason) noexcept;

// Counts and times of one answer. TTFT is first_token - arrival; TPOT is (last_token - first_token) / (output_tokens -
// 1).
struct RequestStats {
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t drafted_tokens = 0, accepted_tokens = 0;          // draft tokens verified; accepted ones
  double cumulative_logprob = 0.0;                               // sum over sampled tokens, if sampling.logprobs is set
  TimePoint arrival{}, admitted{}, first_token{}, last_token{};  // zero: not yet
  double queue_ms() const { return milliseconds_between(arrival, admitted); }
  double ttft_ms() const { return milliseconds_between(arrival, first_token); }
  double tpot_ms() const {
    return output_tokens > 1 ? milliseconds_between(first_token, last_token) / static_cast<double>(output_tokens - 1)
                             : 0.0;
  }
};

// What ended an answer with kStop: an end-of-generation token of the model (monostate), a stop string, or one of
// stop_token_ids.
using StopReason = std::variant<std::monostate, std::string, std::int32_t>;

// What a step produced for one answer. Plain data, as Request is.
struct Output {
  RequestId request = 0;
  int choice = 0;                     // [0, n)
  std::optional<std::int32_t> token;  // sampled in this step
  std::optional<TokenScore> score;    // of that token, if sampling.logprobs is set
  std::string text;                   // new text that may be shown, complete UTF-8 characters
  FinishReason finish = FinishReason::kNone;
  bool last = false;                       // the request's last output: all its answers have ended
  std::optional<Error> error;              // with kError
  StopReason stop_reason;                  // with kStop
  RequestStats stats;                      // so far; final if finish != kNone
  std::shared_ptr<const TimeSpent> spent;  // set if finish != kNone

  // [prompt_tokens - 1]: entry i scores prompt token i + 1 given those before it; the first token has no score. Set
  // once: with the first token of choice 0, or with its end if max_tokens is 0.
  std::vector<TokenScore> prompt_scores;
  // [E], of Euclidean norm 1: in the only output of an embedding request, which ends with kStop.
  std::vector<float> embedding;
};

}  // namespace millrace::engine

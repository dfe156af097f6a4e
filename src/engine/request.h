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

namespace millrace::engine {

using RequestId = std::uint64_t;
using SessionId = std::uint64_t;
using decode::TokenLogprob;
using decode::TokenScore;

inline constexpr int kMaxChoices = 16;

// Which hidden state of the last layer an embedding is: of the last token, or the mean over all.
enum class Pooling { kLast, kMean };

// Plain data: a copy of its members is the same request, in another thread or process. What it points to is immutable
// and shared by the requests that one call became, as it may be large.
struct Request {
  std::vector<std::int32_t> tokens;  // the prompt, or with append_to_session what comes after the session's tokens
  decode::SamplingParams sampling;
  std::shared_ptr<const chat::AnswerGrammar> grammar;  // that each answer fits, as source; null: anything
  int n = 1;  // answers to the same prompt, [1, kMaxChoices]; answer i is sampled with seed + i

  // Search for the n likeliest answers instead of sampling n. Ends and length are those of `sampling`, as are bans,
  // bias and penalties; the answers come when the search is over. Not in a session.
  std::optional<decode::BeamOptions> beams;

  // Score the prompt and list as many of the likeliest tokens for each of its own; [0, 20]. The prompt is computed
  // whole, whatever is published of it. Not in a session.
  std::optional<int> prompt_logprobs;
  // No answer but the embedding of the prompt; n is 1, sampling counts for nothing. Not in a session.
  bool embed = false;
  Pooling pooling = Pooling::kLast;

  std::optional<SessionId> session;  // keep keys and values for the next request of this session
  bool append_to_session = false;

  std::optional<std::int64_t>
      draft_tokens;  // speculate on at most as many a step, 0 = not; nothing = the engine's choice
  std::optional<int>
      draft_branches;  // and on as many branches at most, [1, draft::kMaxBranches]; nothing = the engine's choice

  int priority = 0;                                   // lower is more urgent
  std::uint32_t tenant = 0;                           // whose it is, for policies that share fairly
  std::string cache_salt;                             // pages are shared only among requests of equal salt and adapter
  kv::Retention retention = {};                       // of its published pages
  std::optional<double> timeout_ms;                   // the whole answer must be there by then, else kTimeout
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // for policies that schedule by them; 0 = none
  std::int64_t expected_tokens = 0;                   // how long the answer is expected to be; 0 = unknown
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kTimeout, kError };
std::string_view to_string(FinishReason reason) noexcept;

// Counts and times of one answer; TTFT = first_token - arrival, TPOT = (last_token - first_token) / (output_tokens -
// 1).
struct RequestStats {
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t drafted_tokens = 0, accepted_tokens = 0;  // verified; of those, accepted
  double cumulative_logprob = 0.0;                       // of the sampled tokens, where sampling.logprobs are asked for
  TimePoint arrival{}, admitted{}, first_token{}, last_token{};  // the clock's zero: never
  double queue_ms() const { return milliseconds_between(arrival, admitted); }
  double ttft_ms() const { return milliseconds_between(arrival, first_token); }
  double tpot_ms() const {
    return output_tokens > 1 ? milliseconds_between(first_token, last_token) / static_cast<double>(output_tokens - 1)
                             : 0.0;
  }
};

// What ended an answer with kStop: nothing to tell (the model's own end of generation), a stop string, or one of
// stop_token_ids.
using StopReason = std::variant<std::monostate, std::string, std::int32_t>;

// What a step did for one answer. Plain data, as Request is.
struct Output {
  RequestId request = 0;
  int choice = 0;                     // [0, n)
  std::optional<std::int32_t> token;  // sampled in this step
  std::optional<TokenScore> score;    // of that token, where sampling.logprobs are asked for
  std::string text;                   // that may be shown now; whole UTF-8
  FinishReason finish = FinishReason::kNone;
  bool last = false;                       // the request's last output: all its answers have ended
  std::optional<Error> error;              // with kError
  StopReason stop_reason;                  // with kStop
  RequestStats stats;                      // final once finish != kNone
  std::shared_ptr<const TimeSpent> spent;  // with the answer's end

  // Entry i scores prompt token i + 1 given those before it: one less than the prompt has, as nothing says how likely
  // the first was. Comes once, with the first token of choice 0, or with its end where max_tokens is 0.
  std::vector<TokenScore> prompt_scores;
  // [E], of length 1; with the only output of an embedding request, which ends with kStop.
  std::vector<float> embedding;
};

}  // namespace millrace::engine

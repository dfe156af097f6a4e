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

// Which final hidden states make an embedding: that of the last token, or the mean over all tokens.
enum class Pooling { kLast, kMean };

// Plain data: a copy of its members is the same request, in another thread or process. Objects that it points to are
// immutable; requests made from one API call share them, as they may be large.
struct Request {
  std::vector<std::int32_t> tokens;  // the prompt; with append_to_session, the tokens after those of the session
  decode::SamplingParams sampling;
  std::shared_ptr<const chat::AnswerGrammar> grammar;  // source of the grammar that each answer fits; null: none
  int n = 1;  // answers to the same prompt, [1, kMaxChoices]; answer i is sampled with seed + i

  // Beam search for the n likeliest answers instead of sampling. Ends, lengths, bans, bias and penalties are those of
  // `sampling`. All outputs come when the search is over. Not in a session.
  std::optional<decode::BeamOptions> beams;

  // Score each prompt token, and list so many of the likeliest tokens beside it; [0, 20]. The whole prompt is computed,
  // without the prefix cache. Not in a session.
  std::optional<int> prompt_logprobs;
  // Return the embedding of the prompt instead of an answer. n must be 1; `sampling` is ignored. Not in a session.
  bool embed = false;
  Pooling pooling = Pooling::kLast;

  std::optional<SessionId> session;  // the session that keeps the keys and values for its next request
  bool append_to_session = false;

  std::optional<std::int64_t> draft_tokens;  // limit of draft tokens in a step; 0 = none, nothing = the engine's limit
  std::optional<int> draft_branches;  // limit of branches, [1, draft::kMaxBranches]; nothing = the engine's limit

  int priority = 0;                                   // lower is more urgent
  std::uint32_t tenant = 0;                           // index of the tenant, for policies that share fairly
  std::string cache_salt;                             // requests share pages only if their salts are equal
  kv::Retention retention = {};                       // how long the prefix cache keeps its pages
  std::optional<double> timeout_ms;                   // from arrival to the end of the whole answer; then kTimeout
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // targets for policies; 0 = none
  std::int64_t expected_tokens = 0;                   // expected length of the answer in tokens; 0 = unknown
};

enum class FinishReason { kNone, kStop, kLength, kCancelled, kTimeout, kError };
std::string_view to_string(FinishReason reason) noexcept;

// Counts and times of one answer. TTFT = first_token - arrival; TPOT = (last_token - first_token) / (output_tokens -
// 1).
struct RequestStats {
  std::int64_t prompt_tokens = 0, cached_tokens = 0, output_tokens = 0;
  std::int64_t preemptions = 0;
  std::int64_t drafted_tokens = 0, accepted_tokens = 0;  // draft tokens verified; draft tokens accepted
  double cumulative_logprob = 0.0;                       // sum over the sampled tokens; 0 without sampling.logprobs
  TimePoint arrival{}, admitted{}, first_token{}, last_token{};  // the clock's zero = not yet
  double queue_ms() const { return milliseconds_between(arrival, admitted); }
  double ttft_ms() const { return milliseconds_between(arrival, first_token); }
  double tpot_ms() const {
    return output_tokens > 1 ? milliseconds_between(first_token, last_token) / static_cast<double>(output_tokens - 1)
                             : 0.0;
  }
};

// What ended an answer with kStop: the model's end of generation (monostate), a stop string, or one of stop_token_ids.
using StopReason = std::variant<std::monostate, std::string, std::int32_t>;

// What one step produced for one answer. Plain data, like Request.
struct Output {
  RequestId request = 0;
  int choice = 0;                     // [0, n)
  std::optional<std::int32_t> token;  // sampled in this step
  std::optional<TokenScore> score;    // score of `token`; only with sampling.logprobs
  std::string text;                   // the answer's next text; whole UTF-8 characters, may be empty
  FinishReason finish = FinishReason::kNone;
  bool last = false;                       // all answers of the request have ended; no output follows
  std::optional<Error> error;              // set if finish is kError
  StopReason stop_reason;                  // valid if finish is kStop
  RequestStats stats;                      // final once finish != kNone
  std::shared_ptr<const TimeSpent> spent;  // set if finish != kNone

  // Entry i scores prompt token i + 1 given the tokens before it; the first token has no score. Comes once, with the
  // first token of choice 0, or with its end if max_tokens is 0.
  std::vector<TokenScore> prompt_scores;
  // The embedding [E], of length 1. Part of the only output of an embedding request, which ends with kStop.
  std::vector<float> embedding;
};

}  // namespace millrace::engine

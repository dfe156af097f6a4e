#pragma once

#include <array>
#include <memory>
#include <utility>

#include "decode/logits_pipeline.h"
#include "decode/stop_matcher.h"
#include "engine/prompt_reading.h"
#include "engine/request.h"
#include "engine/speculation.h"
#include "sched/sequence.h"
#include "text/detokenizer.h"

namespace millrace::engine {

// What is known of where an answer's time went (accounting.cc).
struct TimeAccount {
  TimePoint mark{};        // accounted for until then
  TimeSpent spent;         // but `finished`
  std::int64_t lost = 0;   // tokens that were in its pages when it was last preempted: those are computed again
  bool preempted = false;  // and not yet back

  // The last rows, as far as each was one sampled token and followed at once on the one before: not yet in `spent`, as
  // the engine's sums over those steps say what they come to. Steps are numbers of an AccountingEpoch.
  static constexpr std::int32_t kNoStreak = -1;
  std::int32_t streak_begin = kNoStreak, streak_end = 0;  // the step before the first of them; the last of them
  std::int64_t streak_first = 0;                          // position of the first of those tokens
  TimePoint streak_mark{};                                // accounted for until then
  // A row of one token in the step of that number: whether that goes on with a streak, which has it now.
  bool continues(TimePoint begin, TimePoint end, std::int32_t step) noexcept {
    if (streak_begin == kNoStreak || mark != begin) return false;
    mark = end;
    streak_end = step;
    return true;
  }
};

// Sums over the steps since the epoch's begin of what the share of a decoding row depends on.
struct AccountingEpoch {
  struct Sums {
    double token_ms = 0.0, kv_token_ms = 0.0;  // of a row of one token alone, and for each position before it
    double kv_token_ms_by_step = 0.0;          // kv_token_ms times the step's number
    double prompts_ms = 0.0;                   // what rows of several tokens added
    double read_bytes = 0.0;
  };
  static constexpr std::int32_t kSteps = 256;
  std::int32_t step = 0;
  std::array<Sums, kSteps + 1> sums{};  // [0]: none yet
};

// One answer in flight: what scheduling needs, and what turns its logits into text.
struct ActiveSequence : sched::Sequence {
  ActiveSequence(kv::BlockTable table, const decode::SamplingParams& params, std::int64_t vocabulary,
                 std::shared_ptr<const text::Tokenizer> tokenizer, std::optional<grammar::Matcher> grammar)
      : Sequence(std::move(table)),
        vocab_size(vocabulary),
        sampling(params),
        pipeline(params, vocabulary, tokenizer->end_of_generation(), std::move(grammar)),
        detokenizer(std::move(tokenizer), params.skip_special_tokens, params.shown_special_tokens),
        stops(params.stop, params.include_stop_str_in_output ? decode::StopMatcher::Shown::kIncluded
                                                             : decode::StopMatcher::Shown::kBefore) {}

  RequestId request = 0;
  int choice = 0;
  std::int64_t vocab_size;  // of the model, which may be smaller than the tokenizer's
  decode::SamplingParams sampling;
  decode::LogitsPipeline pipeline;
  text::Detokenizer detokenizer;
  decode::StopMatcher stops;
  std::unique_ptr<PromptReading> reading;  // null where nothing (more) is asked of the prompt but its successor
  bool draws = true;                       // its prompt gets a successor
  RequestStats stats;
  TimeAccount account;
  DraftRecord record;
  // What sample_side_by_side() took from the row of the step being committed, until sample() asks for it.
  std::optional<Result<std::int32_t>> sampled;
  bool is_beam = false;
  bool descheduled = false;                   // blocked, and not the scheduler's: lets others run
  std::vector<decode::ScoredToken> beam_row;  // what may follow it; empty until computed
  FinishReason ending = FinishReason::kNone;  // ends with this once no step holds it any more
  std::optional<Error> failure;               // and this

  // All that another answer to the same prompt has in common with this one, which has none yet.
  void copy_request(const ActiveSequence& first) {
    tokens = first.tokens;
    prompt_tokens = first.prompt_tokens;
    max_total = first.max_total;
    scope = first.scope;
    retention = first.retention;
    arrival = first.arrival;
    priority = first.priority;
    tenant = first.tenant;
    deadline = first.deadline;
    ttft_target_ms = first.ttft_target_ms;
    tpot_target_ms = first.tpot_target_ms;
    predicted_output = first.predicted_output;
    paused = first.paused;
    stats = first.stats;
    account = first.account;
    record.most = first.record.most;
    record.max_branches = first.record.max_branches;
  }
};

}  // namespace millrace::engine

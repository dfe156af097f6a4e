#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decode/logits_pipeline.h"
#include "decode/row_sampling.h"
#include "engine/draft_record.h"
#include "engine/output_writer.h"
#include "engine/prompt_reading.h"
#include "engine/request.h"
#include "engine/step_input.h"
#include "engine/time_account.h"
#include "sched/sequence.h"

namespace millrace::engine {

// One answer in flight: what scheduling needs, and what turns its logits into text.
struct ActiveSequence : sched::Sequence {
  ActiveSequence(kv::BlockTable table, const decode::SamplingParams& params, std::int64_t vocabulary,
                 std::shared_ptr<const text::Tokenizer> tokenizer, std::optional<grammar::Matcher> grammar)
      : Sequence(std::move(table)),
        vocab_size(vocabulary),
        sampling(params),
        pipeline(params, vocabulary, tokenizer->end_of_generation(), std::move(grammar)),
        detokenizer(OutputWriter::make_detokenizer(std::move(tokenizer), params)),
        stops(OutputWriter::make_stops(params)) {}

  RequestId request = 0;
  int choice = 0;
  std::int64_t vocab_size;  // of the model, which may be smaller than the tokenizer's
  decode::SamplingParams sampling;
  std::optional<decode::RowSampling> row_sampling;  // all that its tokens take besides logits; nothing: they take more
  decode::LogitsPipeline pipeline;
  text::Detokenizer detokenizer;
  decode::StopMatcher stops;
  std::unique_ptr<PromptReading> reading;  // null where nothing (more) is asked of the prompt but its successor
  bool draws = true;                       // its prompt gets a successor
  StepInput::Adapters adapters;            // which its request keeps
  RequestStats stats;
  TimeAccount account;
  DraftRecord record;
  // Where the last of its unseen tokens is sampled: in which launch, and which of its sampled rows.
  struct Unseen {
    std::uint64_t launch = 0;
    std::int32_t sampled = 0;
  } last_unseen;
  // What RowSampler took from the row of the step being committed before its turn came.
  std::optional<Result<std::int32_t>> sampled;
  bool is_beam = false;
  bool descheduled = false;                   // blocked, and not the scheduler's: lets others run
  std::vector<decode::ScoredToken> beam_row;  // what may follow it; empty until computed
  FinishReason ending = FinishReason::kNone;  // ends with this once no step holds it any more
  std::unique_ptr<Output> last_output;        // and this

  // One more token of it, sampled at that time.
  void count_token(TimePoint at) noexcept {
    if (stats.output_tokens == 0) stats.first_token = at;
    if (stats.output_tokens == 0) first_token = at;
    stats.last_token = at;
    last_token = at;
    ++stats.output_tokens;
  }

  // All that another answer to the same prompt has in common with this one, which has none yet.
  void copy_request(const ActiveSequence& first) {
    tokens = first.tokens;
    prompt_tokens = first.prompt_tokens;
    max_total = first.max_total;
    scope = first.scope;
    adapters = first.adapters;
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

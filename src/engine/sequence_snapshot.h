#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "decode/beam_search.h"
#include "decode/logits_pipeline.h"
#include "engine/draft_record.h"
#include "engine/prompt_reading.h"
#include "engine/request.h"
#include "engine/time_account.h"
#include "kv/page_key.h"
#include "kv/swap_space.h"

namespace millrace::engine {

// One answer in flight as a value. The states of its sampler, grammar, detokenizer and stop matcher are rebuilt from
// the request and the tokens. Random numbers are counter-based, so there is no generator's state.
struct AnswerSnapshot {
  int choice = 0;
  std::vector<std::int32_t> tokens;  // of the answer so far, without the prompt
  std::int64_t computed = 0;         // number of first tokens of prompt and answer whose keys and values are in `pages`
  // [ceil(computed / block_tokens)] pages; none for a beam. Engines whose drafter keeps another companion beside pages,
  // or none, leave the companions alone: what they lack is drafted less, or computed again.
  kv::PageContents pages;
  double mirostat_mu = 0.0;    // see LogitsPipeline::mirostat_mu()
  std::int64_t max_total = 0;  // limit of tokens of prompt and answer together
  std::int64_t predicted_output = 1;
  std::int32_t preemptions = 0;
  RequestStats stats;
  TimeAccount account;  // without an open streak
  DraftRecord record;   // rates of acceptance; no draft
  std::optional<PromptReading> reading;
  std::vector<decode::ScoredToken> beam_row;  // of a beam: scores of its next tokens; empty until computed
};

// A beam search in flight. Its beams are SequenceSnapshot::answers.
struct BeamSnapshot {
  decode::BeamSearch::State search;
  std::vector<TokenScore> prompt_scores;
  std::vector<std::pair<std::uint64_t, TokenScore>> scores;  // see BeamRun
};

// A request in flight with all its answers, between two steps. SequenceTransfer exports it from an engine and imports
// it into another one of equal `origin`, where it continues bit for bit. Times are those of the exporting engine's
// clock.
struct SequenceSnapshot {
  kv::PageOrigin origin;  // of its pages: engines of another origin reject the snapshot
  kv::PageCompanion companion;
  TimePoint exported{};
  Request request;                      // `tokens` is the whole prompt; `session` and `append_to_session` are not set
  bool in_session = false;              // its session moves too
  std::optional<TimePoint> deadline;    // of the whole request
  std::vector<AnswerSnapshot> answers;  // those that have not ended, by choice
  std::optional<BeamSnapshot> beams;
};

// The new ids of an imported request and its session.
struct ImportedSequence {
  RequestId request = 0;
  std::optional<SessionId> session;  // nothing: it has no session
};

// An idle session as a value; see SequenceSnapshot.
struct SessionSnapshot {
  kv::PageOrigin origin;
  kv::PageCompanion companion;
  std::vector<std::int32_t> tokens;  // prompt and answer of all rounds
  std::int64_t computed = 0;         // number of first tokens whose keys and values are in `pages`
  kv::PageContents pages;            // [ceil(computed / block_tokens)]
  kv::PrefixScope scope;             // under which its pages were computed
};

}  // namespace millrace::engine

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

namespace millrace::engine {

// One answer in flight as a value. What its sampler, grammar, detokenizer and stop matcher remember follows from the
// request and the tokens; random numbers are counted, so there is no generator's state.
struct AnswerSnapshot {
  int choice = 0;
  std::vector<std::int32_t> tokens;  // of the answer so far
  std::int64_t computed = 0;         // of prompt and answer, the first so many whose keys and values are in `pages`
  std::vector<std::byte> pages;      // [ceil(computed / block_tokens), page_bytes]; of a beam none
  double mirostat_mu = 0.0;          // see LogitsPipeline::mirostat_mu()
  std::int64_t max_total = 0;        // tokens it may grow to: prompt and answer
  std::int64_t predicted_output = 1;
  std::int32_t preemptions = 0;
  RequestStats stats;
  TimeAccount account;  // closed
  DraftRecord record;   // what its drafts were worth; no drafts
  std::optional<PromptReading> reading;
  std::vector<decode::ScoredToken> beam_row;  // of a beam: what may follow it; empty until computed
};

// A search in flight: its beams are the answers.
struct BeamSnapshot {
  decode::BeamSearch::State search;
  std::vector<TokenScore> prompt_scores;
  std::vector<std::pair<std::uint64_t, TokenScore>> scores;  // see BeamRun
};

// A request in flight with all its answers, between two steps: Engine::export_sequence() takes it out of an engine and
// import_sequence() lets it go on in another one of the same origin, bit for bit as if it had stayed. Times are of the
// clock of the engine that it left.
struct SequenceSnapshot {
  kv::PageOrigin origin;  // of its pages: an engine of another one does not take it
  TimePoint exported{};
  Request request;                      // `tokens` is the whole prompt; `session` and `append_to_session` are not set
  bool in_session = false;              // a session goes with it
  std::optional<TimePoint> deadline;    // of the whole request
  std::vector<AnswerSnapshot> answers;  // those that have not ended, by choice
  std::optional<BeamSnapshot> beams;
};

// What an imported sequence is called from then on.
struct ImportedSequence {
  RequestId request = 0;
  std::optional<SessionId> session;  // where one came with it
};

// An idle session as a value; see SequenceSnapshot.
struct SessionSnapshot {
  kv::PageOrigin origin;
  std::vector<std::int32_t> tokens;  // prompt and answer of all rounds
  std::int64_t computed = 0;         // of them, the first so many whose keys and values are in `pages`
  std::vector<std::byte> pages;      // [ceil(computed / block_tokens), page_bytes]
  kv::PrefixScope scope;             // that requests of the session are computed under
};

}  // namespace millrace::engine

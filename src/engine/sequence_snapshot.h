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

// One answer in flight as a value. The states of its sampler, grammar, detokenizer and stop matcher are not part of it:
// import replays the tokens. There is no random state, because random numbers are a function of seed and position.
struct AnswerSnapshot {
  int choice = 0;
  std::vector<std::int32_t> tokens;  // of the answer so far
  std::int64_t computed = 0;         // of prompt and answer, the first so many whose keys and values are in `pages`
  std::vector<std::byte> pages;      // [ceil(computed / block_tokens), page_bytes]; empty for a beam
  double mirostat_mu = 0.0;          // see LogitsPipeline::mirostat_mu()
  std::int64_t max_total = 0;        // limit of prompt and answer together, in tokens
  std::int64_t predicted_output = 1;
  std::int32_t preemptions = 0;
  RequestStats stats;
  TimeAccount account;  // closed
  DraftRecord record;   // acceptance measured so far; without draft tokens
  std::optional<PromptReading> reading;
  std::vector<decode::ScoredToken> beam_row;  // candidates for a beam's next token; empty until computed
};

// A beam search in flight. SequenceSnapshot::answers are its beams.
struct BeamSnapshot {
  decode::BeamSearch::State search;
  std::vector<TokenScore> prompt_scores;
  std::vector<std::pair<std::uint64_t, TokenScore>> scores;  // see BeamRun
};

// A request in flight with all its answers, between two steps: Engine::export_sequence() takes it out of an engine and
// import_sequence() lets it go on in another one of the same origin, bit for bit as if it had stayed. Times are of the
// clock of the engine that it left.
struct SequenceSnapshot {
  kv::PageOrigin origin;  // model and form of the pages; an engine with another origin rejects the snapshot
  TimePoint exported{};
  Request request;                      // `tokens` is the whole prompt; `session` and `append_to_session` are not set
  bool in_session = false;              // the request's session moves with it
  std::optional<TimePoint> deadline;    // of the whole request
  std::vector<AnswerSnapshot> answers;  // answers that have not ended, ascending by choice
  std::optional<BeamSnapshot> beams;
};

// The ids of an imported request and its session in the importing engine.
struct ImportedSequence {
  RequestId request = 0;
  std::optional<SessionId> session;  // nothing if the snapshot has no session
};

// An idle session as a value; see SequenceSnapshot.
struct SessionSnapshot {
  kv::PageOrigin origin;
  std::vector<std::int32_t> tokens;  // prompt and answer of all rounds
  std::int64_t computed = 0;         // the first so many of `tokens` have their keys and values in `pages`
  std::vector<std::byte> pages;      // [ceil(computed / block_tokens), page_bytes]
  kv::PrefixScope scope;             // prefix cache scope of the session's requests
};

}  // namespace millrace::engine

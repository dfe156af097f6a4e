#pragma once

// The fields of snapshots for ByteWriter and ByteReader (base/byte_archive.h). Each function lists all members that
// matter in another process. Who adds a member to one of these structures adds it here and increments kSnapshotVersion.

#include <chrono>

#include "base/byte_archive.h"
#include "base/json.h"
#include "chat/answer_grammar.h"
#include "decode/sampling_fields.h"
#include "engine/sequence_snapshot.h"

namespace millrace::decode {

template <typename Archive>
void visit_fields(Archive& a, TokenLogprob& v) {
  a(v.token, v.logprob);
}
template <typename Archive>
void visit_fields(Archive& a, TokenScore& v) {
  a(v.chosen, v.rank, v.top);
}
template <typename Archive>
void visit_fields(Archive& a, ScoredToken& v) {
  a(v.token, v.logprob);
}
template <typename Archive>
void visit_fields(Archive& a, BeamOptions& v) {
  a(v.width, v.length_penalty, v.early_stopping, v.groups, v.diversity_penalty, v.end_tokens, v.max_tokens);
}
template <typename Archive>
void visit_fields(Archive& a, BeamSearch::Beam& v) {
  a(v.parent, v.token, v.score, v.group, v.tokens);
}
template <typename Archive>
void visit_fields(Archive& a, BeamSearch::Hypothesis& v) {
  a(v.score, v.logprob, v.tokens);
}
template <typename Archive>
void visit_fields(Archive& a, BeamSearch::Group& v) {
  a(v.finished, v.done);
}
template <typename Archive>
void visit_fields(Archive& a, BeamSearch::State& v) {
  a(v.length, v.live, v.groups);
}

}  // namespace millrace::decode

namespace millrace::draft {

template <typename Archive>
void visit_fields(Archive& a, Acceptance::Bin& v) {
  a(v.tried, v.right);
}
template <typename Archive>
void visit_fields(Archive& a, Acceptance& v) {
  a(v.bins());
}

}  // namespace millrace::draft

namespace millrace::kv {

template <typename Archive>
void visit_fields(Archive& a, PageOrigin& v) {
  a(v.model_key, v.page_bytes, v.block_tokens);
}
template <typename Archive>
void visit_fields(Archive& a, PageCompanion& v) {
  a(v.key, v.page_bytes);
}
template <typename Archive>
void visit_fields(Archive& a, PageContents& v) {
  a(v.pages, v.companions, v.window, v.n, v.n_window);
}
template <typename Archive>
void visit_fields(Archive& a, PrefixScope& v) {
  a(v.adapter, v.salt, v.rope_length, v.activated, v.activated_from);
}
template <typename Archive>
void visit_fields(Archive& a, Retention& v) {
  std::optional<std::int64_t> milliseconds;
  if (v.time_to_live) milliseconds = v.time_to_live->count();
  a(v.priority, milliseconds);
  if constexpr (kReads<Archive>) {
    v.time_to_live.reset();
    if (milliseconds) v.time_to_live = std::chrono::milliseconds(*milliseconds);
  }
}

}  // namespace millrace::kv

namespace millrace::grammar {

template <typename Archive>
void visit_fields(Archive& a, GrammarSource& v) {
  a(v.language, v.text, v.white_space, v.ignore_unsupported);
}

}  // namespace millrace::grammar

namespace millrace::chat {
namespace tools {

template <typename Archive>
void visit_fields(Archive& a, Tool& v) {
  std::string parameters = dumped(v.parameters);
  a(v.name, parameters, v.strict);
  if constexpr (kReads<Archive>) {
    auto read = parse_json(parameters);
    v.parameters = read ? *std::move(read) : Json();  // text of dumped() is always valid
  }
}
template <typename Archive>
void visit_fields(Archive& a, ToolUse& v) {
  a(v.choice, v.named, v.parallel, v.tools);
}

}  // namespace tools

template <typename Archive>
void visit_fields(Archive& a, AnswerGrammar& v) {
  a(v.constraint, v.tool_use, v.tool_format, v.reasoning_format, v.reasoning_begun);
}

}  // namespace millrace::chat

namespace millrace::engine {

template <typename Archive>
void visit_fields(Archive& a, AdapterUse& v) {
  a(v.key, v.scale);
}
template <typename Archive>
void visit_fields(Archive& a, Request& v) {
  std::optional<chat::AnswerGrammar> grammar;
  if (v.grammar) grammar = *v.grammar;
  a(grammar);
  if constexpr (kReads<Archive>) {
    if (grammar) v.grammar = std::make_shared<const chat::AnswerGrammar>(*std::move(grammar));
  }
  a(v.tokens, v.sampling, v.n, v.beams, v.prompt_logprobs, v.embed, v.pooling, v.draft_tokens, v.draft_branches,
    v.priority, v.tenant, v.cache_salt, v.retention, v.timeout_ms, v.ttft_target_ms, v.tpot_target_ms,
    v.expected_tokens, v.adapters);
}
template <typename Archive>
void visit_fields(Archive& a, RequestStats& v) {
  a(v.prompt_tokens, v.cached_tokens, v.output_tokens, v.preemptions, v.drafted_tokens, v.accepted_tokens,
    v.cumulative_logprob, v.arrival, v.admitted, v.first_token, v.last_token);
}
template <typename Archive>
void visit_fields(Archive& a, TimeSpent& v) {
  a(v.queue_ms, v.adapters_ms, v.prefill_ms, v.prefill_shared_ms, v.stalled_ms, v.decode_ms, v.decode_batch_ms,
    v.decode_prefill_ms, v.preempted_ms, v.recompute_ms, v.paused_ms, v.steps, v.recomputed_tokens, v.decode_read_bytes,
    v.prefill_operations, v.decode_experts);
}
template <typename Archive>
void visit_fields(Archive& a, TimeAccount& v) {  // closed, so it has no streak
  a(v.mark, v.spent, v.lost, v.preempted);
}
template <typename Archive>
void visit_fields(Archive& a, DraftRecord& v) {
  a(v.most, v.max_branches, v.acceptance, v.forking, v.mean, v.skipped);
}
template <typename Archive>
void visit_fields(Archive& a, AnswerSnapshot& v) {
  a(v.choice, v.tokens, v.computed, v.pages, v.mirostat_mu, v.max_total, v.predicted_output, v.preemptions, v.stats,
    v.account, v.record, v.reading, v.beam_row);
}
template <typename Archive>
void visit_fields(Archive& a, BeamSnapshot& v) {
  a(v.search, v.prompt_scores, v.scores);
}
template <typename Archive>
void visit_fields(Archive& a, SequenceSnapshot& v) {
  a(v.origin, v.companion, v.exported, v.request, v.in_session, v.deadline, v.answers, v.beams);
}
template <typename Archive>
void visit_fields(Archive& a, SessionSnapshot& v) {
  a(v.origin, v.companion, v.tokens, v.computed, v.pages, v.scope);
}

}  // namespace millrace::engine

#pragma once

#include <string>
#include <vector>

#include "server/generation.h"

// What the objects of OpenAI's routes have in common.
namespace millrace::server {

// stop, length, tool_calls; null while it goes on. A call that was demanded by name ends with stop.
Json finish_reason(const GenerationTask& task, const Answer& answer);
// vLLM's: the stop string or token id that ended the answer, else null.
Json stop_reason(const Answer& answer);
// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: {cached_tokens}}, and of a model that reasons
// completion_tokens_details: {reasoning_tokens}.
Json usage(const GenerationTask& task, const std::vector<Answer>& answers);
// Times of one answer, under llama-server's names and ours, and what its steps made of the machine
// (engine/utilization.h); null where that is not known.
Json timings(const GenerationTask& task, const Answer& answer);
// Why it took so long: causes with their milliseconds, in the order of their share.
Json explanation(const GenerationTask& task, const Answer& answer);

// How a token is written in logprobs: its text, or "token_id:N" where asked for.
std::string token_text(const GenerationTask& task, std::int32_t token);
// -9999 for what cannot be, as JSON has no infinity.
double finite_logprob(float logprob) noexcept;
// vLLM's prompt_logprobs: null, then for each token {"id": {"logprob", "rank", "decoded_token"}}.
Json prompt_logprobs(const GenerationTask& task, const Answer& answer);

// timings and why_slow, where asked for.
void add_times(Json& to, const GenerationTask& task, const Answer& answer);

// For a stream whose chunks begin with `chunk`: the field usage of one of them, where asked for, after `produced`
// tokens of all answers; the last chunk, with counts and times where asked for, and [DONE]; the error event, and
// [DONE].
void append_usage_so_far(std::string& out, const GenerationTask& task, std::size_t prompt, std::int64_t produced);
void append_end(std::string& out, const GenerationTask& task, const std::string& chunk,
                const std::vector<Answer>& answers);
void append_failure(std::string& out, const ApiError& error);

}  // namespace millrace::server

#pragma once

#include <string>
#include <vector>

#include "server/generation.h"

// Parts that the objects of OpenAI's routes have in common.
namespace millrace::server {

// finish_reason: stop, length or tool_calls; null before the end. A call that tool_choice names ends with stop.
Json finish_reason(const GenerationTask& task, const Answer& answer);
// vLLM's stop_reason: the stop string or token id that ended the answer, else null.
Json stop_reason(const Answer& answer);
// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: {cached_tokens}}, and for a model with
// reasoning completion_tokens_details: {reasoning_tokens}.
Json usage(const GenerationTask& task, const std::vector<Answer>& answers);
// Times of one answer under llama-server's names and our own, and its utilization of the machine
// (engine/utilization.h); null for what is not known.
Json timings(const GenerationTask& task, const Answer& answer);
// Where the answer's time went: causes with milliseconds, the largest share first.
Json explanation(const GenerationTask& task, const Answer& answer);

// A token as logprobs show it: its text, or "token_id:N" if the request asks for ids.
std::string token_text(const GenerationTask& task, std::int32_t token);
// The logprob, or -9999 for minus infinity, which JSON does not have.
double finite_logprob(float logprob) noexcept;
// vLLM's prompt_logprobs: null for the first token, then for each token {"id": {"logprob", "rank", "decoded_token"}}.
Json prompt_logprobs(const GenerationTask& task, const Answer& answer);

// Adds timings and why_slow if the request asks for them.
void add_times(Json& to, const GenerationTask& task, const Answer& answer);

// Parts of a stream, whose chunks begin with `chunk`. append_usage_so_far(): the field usage of a chunk after
// `produced` tokens of all answers, if the request asks for it. append_end(): the last chunk, with counts and times if
// the request asks for them, and [DONE]. append_failure(): the error event and [DONE].
void append_usage_so_far(std::string& out, const GenerationTask& task, std::size_t prompt, std::int64_t produced);
void append_end(std::string& out, const GenerationTask& task, const std::string& chunk,
                const std::vector<Answer>& answers);
void append_failure(std::string& out, const ApiError& error);

}  // namespace millrace::server

#pragma once

#include <string>
#include <vector>

#include "server/generation.h"

// Members that the objects of several of OpenAI's routes have in common.
namespace millrace::server {

// "stop", "length" or "tool_calls"; null while the answer goes on. After a call that tool_choice demands by name it is
// "stop".
Json finish_reason(const GenerationTask& task, const Answer& answer);
// vLLM's stop_reason: the stop string or the token id that ended the answer, else null.
Json stop_reason(const Answer& answer);
// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: {cached_tokens}} of all answers, and
// completion_tokens_details: {reasoning_tokens} where reasoning is read apart. Each prompt counts once, with the tokens
// of its session before it; answers to one prompt must be next to each other.
Json usage(const GenerationTask& task, const std::vector<Answer>& answers);
// Counts and times in ms of one answer, under names of llama-server and of millrace, and the utilization of the machine
// in its steps (engine/utilization.h), null where it is not known.
Json timings(const GenerationTask& task, const Answer& answer);
// Why the answer took as long as it did: a list of causes with their milliseconds, the greatest first; see
// observe::explain().
Json explanation(const GenerationTask& task, const Answer& answer);

// A token as logprobs show it: its bytes, which may not be whole UTF-8, or "token_id:N" with
// return_tokens_as_token_ids.
std::string token_text(const GenerationTask& task, std::int32_t token);
// The logprob, or -9999 where it is infinite or not a number, neither of which JSON can hold.
double finite_logprob(float logprob) noexcept;
// vLLM's prompt_logprobs: null for the first token, then for each token {"ID": {"logprob", "rank", "decoded_token"}}.
Json prompt_logprobs(const GenerationTask& task, const Answer& answer);

// Adds timings and why_slow to `to`, as far as the request has `timings` and `explain`.
void add_times(Json& to, const GenerationTask& task, const Answer& answer);

// Appends the member `usage` of a chunk in the middle of a stream, with the comma before it, after `produced` tokens of
// the answers to the prompt with index `prompt`. It has counts with continuous_usage, is null with include_usage, and
// is left out otherwise.
void append_usage_so_far(std::string& out, const GenerationTask& task, std::size_t prompt, std::int64_t produced);
// Appends the end of a stream: [DONE], and before it a chunk with usage and times where include_usage, timings or
// explain ask for it. `chunk` is what all chunks of the stream begin with, up to and without the end of the list
// `choices`, which must be the last member.
void append_end(std::string& out, const GenerationTask& task, const std::string& chunk,
                const std::vector<Answer>& answers);
// Appends an error event and [DONE].
void append_failure(std::string& out, const ApiError& error);

}  // namespace millrace::server

#pragma once

#include <string>
#include <vector>

#include "server/generation.h"

// What the objects of OpenAI's routes have in common.
namespace millrace::server {

// stop, length; null while it goes on.
Json finish_reason(const Answer& answer);
// vLLM's: the stop string or token id that ended the answer, else null.
Json stop_reason(const Answer& answer);
// {prompt_tokens, completion_tokens, total_tokens, prompt_tokens_details: {cached_tokens}}
Json usage(const std::vector<Answer>& answers);
// Times of one answer: under llama-server's names and ours.
Json timings(const Answer& answer);
// Why it took so long: causes with their milliseconds, in the order of their share.
Json explanation(const Answer& answer);

// How a token is written in logprobs: its text, or "token_id:N" where asked for.
std::string token_text(const GenerationTask& task, std::int32_t token);
// -9999 for what cannot be, as JSON has no infinity.
double finite_logprob(float logprob) noexcept;
// vLLM's prompt_logprobs: null, then for each token {"id": {"logprob", "rank", "decoded_token"}}.
Json prompt_logprobs(const GenerationTask& task, const Answer& answer);

// `data: {...}` and an empty line.
void append_event(std::string& out, std::string_view json);
inline constexpr std::string_view kDone = "data: [DONE]\n\n";

}  // namespace millrace::server

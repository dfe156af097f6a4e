#include "engine/request_check.h"

#include <cmath>

namespace millrace::engine {
namespace {

constexpr ErrorCode kWrong = ErrorCode::kInvalidArgument;

// What is asked of the prompt itself.
Result<void> check_reading(const Request& request) {
  const int scores = request.prompt_logprobs.value_or(0);
  if (scores < 0 || scores > decode::kMaxLogprobs) {
    return make_error(kWrong, "prompt_logprobs", "prompt_logprobs is {}: must be between 0 and {}", scores,
                      decode::kMaxLogprobs);
  }
  const bool reads = request.embed || request.prompt_logprobs;
  if (request.embed && request.prompt_logprobs) {
    return make_error(kWrong, "prompt_logprobs", "an embedding has no logprobs");
  }
  if (reads && request.session) {
    return make_error(kWrong, "session", "a session keeps its prompt from being computed whole, as {} asks",
                      request.embed ? "an embedding" : "prompt_logprobs");
  }
  if (!reads && request.sampling.max_tokens == 0) {
    return make_error(kWrong, "max_tokens", "max_tokens is 0: must be at least 1 without prompt_logprobs");
  }
  if (request.n != 1 && (request.embed || request.sampling.max_tokens == 0)) {
    return make_error(kWrong, "n", "n is {}: must be 1 where no token is sampled", request.n);
  }
  return {};
}

Result<void> check_beams(const Request& request, std::int64_t max_sequences) {
  if (!request.beams) return {};
  const decode::BeamOptions& beams = *request.beams;
  if (auto valid = beams.validate(); !valid) return valid;
  if (request.embed || request.sampling.max_tokens == 0) {
    return make_error(kWrong, "use_beam_search", "use_beam_search needs an answer: max_tokens is 0");
  }
  if (request.session) return make_error(kWrong, "session", "a session goes on with one answer, not with beams");
  if (beams.width < request.n) {
    return make_error(kWrong, "n", "n is {}: a search with {} beams finds no more answers", request.n, beams.width);
  }
  if (beams.width > max_sequences) {
    return make_error(kWrong, "num_beams", "num_beams is {}: at most {} sequences run at once", beams.width,
                      max_sequences);
  }
  return {};
}

Result<void> check_choices(const Request& request, std::int64_t max_sequences) {
  if (request.n < 1 || request.n > kMaxChoices) {
    return make_error(kWrong, "n", "n is {}: expected 1 to {}", request.n, kMaxChoices);
  }
  if (request.n > max_sequences) {
    return make_error(kWrong, "n", "n is {}: at most {} answers are made at once", request.n, max_sequences);
  }
  return {};
}

Result<void> check_adapters(const Request& request) {
  const std::vector<AdapterUse>& adapters = request.adapters;
  if (adapters.size() > kMaxAdapters) {
    return make_error(kWrong, "lora", "lora names {} adapters: at most {} go together", adapters.size(), kMaxAdapters);
  }
  for (std::size_t i = 0; i < adapters.size(); ++i) {
    if (!std::isfinite(adapters[i].scale)) {
      return make_error(kWrong, "lora", "a scale in lora is {}: must be finite", adapters[i].scale);
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (adapters[i].key == adapters[j].key) return make_error(kWrong, "lora", "lora names the same adapter twice");
    }
  }
  return {};
}

Result<void> check_ranges(const Request& request) {
  if (request.timeout_ms && !(*request.timeout_ms > 0.0 && *request.timeout_ms <= 1e9)) {
    return make_error(kWrong, "timeout", "timeout is {} ms: expected more than 0, at most 1e9", *request.timeout_ms);
  }
  if (request.draft_tokens.value_or(0) < 0 || request.draft_tokens.value_or(0) > draft::kMaxTokens) {
    return make_error(kWrong, "spec_tokens", "spec_tokens is {}: expected 0 to {}", *request.draft_tokens,
                      draft::kMaxTokens);
  }
  if (request.draft_branches.value_or(1) < 1 || request.draft_branches.value_or(1) > draft::kMaxBranches) {
    return make_error(kWrong, "spec_branches", "spec_branches is {}: expected 1 to {}", *request.draft_branches,
                      draft::kMaxBranches);
  }
  if (request.retention.priority < 0 || request.retention.priority > 100) {
    return make_error(kWrong, "retention_priority", "retention_priority is {}: expected 0 to 100",
                      request.retention.priority);
  }
  return {};
}

// The tokens of the prompt, with what its session has.
Result<std::int64_t> prompt_length(const Request& request, const EngineState& state) {
  auto length = static_cast<std::int64_t>(request.tokens.size());
  if (request.session) {
    const auto session = state.sessions.idle(*request.session);
    if (!session) return session.error();
    if (request.n > 1) {
      return make_error(kWrong, "n", "n is {}: a session goes on with one answer", request.n);
    }
    if (request.append_to_session) length += static_cast<std::int64_t>((*session)->tokens.size());
  } else if (request.append_to_session) {
    return make_error(kWrong, "session", "appending needs a session");
  }
  if (length == 0) return make_error(kWrong, "prompt", "the prompt is empty");
  const bool answers = !request.embed && request.sampling.max_tokens > 0;
  if (length > state.max_length() - (answers ? 1 : 0)) {
    return make_error(ErrorCode::kContextLength, "prompt", "the prompt has {} tokens; {} the limit is {}", length,
                      answers ? "with an answer" : "without an answer", state.max_length());
  }
  return length;
}

}  // namespace

Result<void> check_tokens(std::span<const std::int32_t> tokens, std::int64_t vocabulary, const char* param) {
  for (const std::int32_t token : tokens) {
    if (token < 0 || token >= vocabulary) {
      return make_error(kWrong, param, "token id {} is outside the vocabulary of {}", token, vocabulary);
    }
  }
  return {};
}

Result<void> check_request(const Request& request, const EngineState& state) {
  const std::int64_t vocabulary = state.executor->vocab_size(), max_sequences = state.config.scheduling.max_sequences;
  if (auto valid = request.sampling.validate(vocabulary); !valid && !request.embed) return valid;
  if (auto valid = check_reading(request); !valid) return valid;
  if (auto valid = check_tokens(request.tokens, vocabulary, "prompt"); !valid) return valid;
  if (auto valid = check_beams(request, max_sequences); !valid) return valid;
  if (auto valid = check_choices(request, max_sequences); !valid) return valid;
  if (auto valid = check_ranges(request); !valid) return valid;
  if (auto valid = check_adapters(request); !valid) return valid;
  if (auto length = prompt_length(request, state); !length) return length.error();
  if (static_cast<std::int64_t>(state.scheduler.waiting().size()) >= state.config.max_waiting) {
    return make_error(ErrorCode::kResourceExhausted, "", "{} requests are waiting: that is the limit",
                      state.config.max_waiting);
  }
  return {};
}

}  // namespace millrace::engine

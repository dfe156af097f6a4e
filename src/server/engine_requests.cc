#include <algorithm>

#include "server/generation.h"

namespace millrace::server {
namespace {

// A token that the model does not have is a mistake of who names it, whatever would become of it.
Result<void> check_vocabulary(const GenerationFields& fields, std::int64_t vocab_size) {
  const auto check = [&](const char* field, std::int32_t token) -> Result<void> {
    if (token < vocab_size) return {};
    return make_error(ErrorCode::kInvalidArgument, field, "{} has the token id {}: the vocabulary has {}", field, token,
                      vocab_size);
  };
  for (const decode::TokenBias& bias : fields.logit_bias) {
    if (auto fine = check("logit_bias", bias.token); !fine) return fine;
  }
  for (const std::int32_t token : fields.allowed_token_ids) {
    if (auto fine = check("allowed_token_ids", token); !fine) return fine;
  }
  for (const std::int32_t token : fields.stop_token_ids) {
    if (auto fine = check("stop_token_ids", token); !fine) return fine;
  }
  return {};
}

// Where the model marks the end of its reasoning with a token of its own.
Result<std::optional<decode::ThinkingBudget>> thinking_budget(const GenerationTask& task) {
  std::optional<decode::ThinkingBudget> out;
  if (!task.fields.thinking_token_budget) return out;
  const chat::reasoning::ReasoningFormat* format = task.reading.reasoning;
  const text::Tokenizer& tokenizer = *task.model->tokenizer;
  const auto open = format == nullptr ? std::nullopt : tokenizer.find(format->open);
  const auto close = format == nullptr ? std::nullopt : tokenizer.find(format->close);
  const bool begun = task.reading.reasoning_begun;
  if (close && (begun || open)) {
    out = {.tokens = *task.fields.thinking_token_budget, .open = begun ? -1 : *open, .close = *close};
    return out;
  }
  if (task.fields.thinking_budget_is_wish) return out;
  return make_error(ErrorCode::kUnsupported, "thinking_token_budget",
                    "thinking_token_budget: this model has no token of its own that ends its reasoning");
}

}  // namespace

Result<void> make_requests(GenerationTask& task, std::int64_t default_max_tokens) {
  const GenerationFields& fields = task.fields;
  ModelProfile& model = *task.model;
  if (auto fine = check_vocabulary(fields, model.vocab_size); !fine) return fine;
  const std::uint64_t seed = Env::system().random_seed();
  const auto budget = thinking_budget(task);
  if (!budget) return budget.error();
  const std::vector<std::int32_t> markers = chat::special_markers(task.reading, *model.tokenizer);
  for (std::vector<std::int32_t>& prompt : task.prompts) {
    if (fields.truncate_prompt_tokens) {
      const std::int64_t most =
          *fields.truncate_prompt_tokens < 0 ? model.max_length - 1 : *fields.truncate_prompt_tokens;
      const auto length = static_cast<std::int64_t>(prompt.size());
      if (length > most) prompt.erase(prompt.begin(), prompt.begin() + (length - most));
    }
    const auto length = static_cast<std::int64_t>(prompt.size());
    if (length == 0) return make_error(ErrorCode::kInvalidArgument, "prompt", "the prompt is empty");
    const std::int64_t room = model.max_length - length;
    if (room < 1 || (fields.max_tokens && *fields.max_tokens > room)) {
      return make_error(ErrorCode::kContextLength, room < 1 ? "prompt" : "max_tokens",
                        "the prompt has {} tokens and the answer may have {}: the limit of both is {}", length,
                        fields.max_tokens.value_or(1), model.max_length);
    }
    engine::Request request;
    request.tokens = prompt;
    request.sampling = fields.sampling(model.generation, default_max_tokens, room, seed, *model.tokenizer);
    if (request.sampling.dry_multiplier > 0.0) {
      request.sampling.dry_sequence_breakers = model.breakers->get(fields.dry_sequence_breakers);
    }
    request.beams = fields.beam_options();
    request.n = request.beams ? fields.n : std::max(fields.n, fields.best_of.value_or(0));
    request.sampling.shown_special_tokens = markers;
    request.sampling.thinking_budget = *budget;
    request.sampling.logprobs = fields.logprobs;
    if (request.n > fields.n && !request.sampling.logprobs) request.sampling.logprobs = 0;
    request.prompt_logprobs = fields.prompt_logprobs;
    request.priority = fields.priority;
    request.tenant = task.caller.tenant_number;
    request.cache_salt = task.caller.salt + "/" + fields.cache_salt;
    if (fields.timeout_seconds) request.timeout_ms = *fields.timeout_seconds * 1000.0;
    request.ttft_target_ms = fields.ttft_target_ms;
    request.tpot_target_ms = fields.tpot_target_ms;
    request.expected_tokens = fields.expected_tokens;
    request.draft_tokens = fields.spec_tokens;
    if (fields.spec_branches) request.draft_branches = static_cast<int>(*fields.spec_branches);
    task.requests.push_back(std::move(request));
  }
  return {};
}

}  // namespace millrace::server

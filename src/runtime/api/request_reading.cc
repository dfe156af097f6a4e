#include "runtime/api/request_reading.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "decode/processor.h"
#include "decode/sequence_breakers.h"
#include "runtime/chat_prompt.h"

namespace millrace::runtime {
namespace {

constexpr double kMaxTimeoutMs = 1e9;

Result<std::vector<std::int32_t>> read_prompt(const api::Request& request, const LoadedModel& loaded,
                                              const chat::ChatFormat* format) {
  if (const auto* tokens = std::get_if<std::vector<std::int32_t>>(&request.prompt)) return *tokens;
  if (const auto* chat = std::get_if<api::Chat>(&request.prompt)) return prompt_tokens(loaded, format, *chat);
  const std::string& text = std::get<std::string>(request.prompt);
  if (text.empty()) return make_error(ErrorCode::kInvalidArgument, "prompt", "prompt is empty");
  return prompt_tokens(loaded, text);
}

Result<OptionValues> read_sampling(const std::map<std::string, double>& sampling) {
  OptionValues given;
  const auto options = decode::all_sampler_options();
  for (const auto& [name, value] : sampling) {
    const auto found = std::ranges::find_if(options, [&](const auto* one) { return one->spec.name == name; });
    if (found == options.end()) {
      return make_error(ErrorCode::kInvalidArgument, "sampling",
                        "sampling has '{}': no sampler has an option of that name", name);
    }
    const OptionSpec& spec = (*found)->spec;
    if (auto fine = spec.check(name, value); !fine) return fine.error();
    if (spec.kind == OptionSpec::Kind::kWhole && value != std::floor(value)) {
      return make_error(ErrorCode::kInvalidArgument, name, "{} is {}: must be a whole number", name, value);
    }
    given.set(name, value);
  }
  return given;
}

// The tokens that the answer may have.
Result<std::int64_t> read_max_tokens(const std::optional<std::int64_t>& asked, std::int64_t prompt_tokens,
                                     std::int64_t max_length) {
  if (asked && *asked < 1) {
    return make_error(ErrorCode::kInvalidArgument, "max_tokens", "max_tokens is {}: must be at least 1", *asked);
  }
  const std::int64_t room = max_length - prompt_tokens;
  if (room < 1) {
    return make_error(ErrorCode::kContextLength, "prompt", "prompt has {} tokens: with an answer the limit is {}",
                      prompt_tokens, max_length);
  }
  if (asked && *asked > room) {
    return make_error(ErrorCode::kContextLength, "max_tokens",
                      "max_tokens is {} after a prompt of {}: the limit of both is {}", *asked, prompt_tokens,
                      max_length);
  }
  return asked.value_or(room);
}

}  // namespace

std::vector<std::int32_t> prompt_tokens(const LoadedModel& loaded, std::string_view text) {
  return loaded.checkpoint->tokenizer->encode(text, true, true);
}

Result<std::vector<std::int32_t>> prompt_tokens(const LoadedModel& loaded, const chat::ChatFormat* format,
                                                const api::Chat& chat) {
  if (format == nullptr) {
    return make_error(ErrorCode::kUnsupported, "prompt", "prompt is a chat: {} has no chat template",
                      loaded.checkpoint->path);
  }
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();
  for (const api::Message& message : chat) messages.push_back({{"role", message.role}, {"content", message.content}});
  const auto pieces = render_chat(*format, {{"messages", std::move(messages)}});
  if (!pieces) return pieces.error();
  return loaded.checkpoint->tokenizer->encode(*pieces, false);  // the template writes its own BOS
}

Result<engine::Request> read_request(const api::Request& request, const LoadedModel& loaded,
                                     const chat::ChatFormat* format, std::int64_t max_length) {
  engine::Request out;
  auto tokens = read_prompt(request, loaded, format);
  if (!tokens) return tokens.error();
  out.tokens = *std::move(tokens);
  const auto given = read_sampling(request.sampling);
  if (!given) return given.error();
  decode::SamplingParams& sampling = out.sampling;
  const checkpoint::GenerationDefaults& defaults = loaded.checkpoint->generation;
  const auto models_own = [&](std::string_view name) { return defaults.value_of(name); };
  if (auto set = decode::set_sampler_options(sampling, *given, models_own); !set) return set.error();
  const auto max_tokens = read_max_tokens(request.max_tokens, static_cast<std::int64_t>(out.tokens.size()), max_length);
  if (!max_tokens) return max_tokens.error();
  sampling.max_tokens = *max_tokens;
  sampling.seed = request.seed ? *request.seed : Env::system().random_seed();
  sampling.stop = request.stop;
  sampling.ignore_eos = request.ignore_eos;
  if (sampling.dry_multiplier > 0.0) {
    sampling.dry_sequence_breakers =
        decode::find_sequence_breakers(decode::kDefaultSequenceBreakers, *loaded.checkpoint->tokenizer);
  }
  if (request.timeout_ms && !(*request.timeout_ms > 0.0 && *request.timeout_ms <= kMaxTimeoutMs)) {
    return make_error(ErrorCode::kInvalidArgument, "timeout_ms", "timeout_ms is {}: must be above 0 and at most {}",
                      *request.timeout_ms, kMaxTimeoutMs);
  }
  out.timeout_ms = request.timeout_ms;
  out.priority = request.priority;
  if (auto valid = sampling.validate(loaded.transformer->spec().vocab_size); !valid) return valid.error();
  return out;
}

}  // namespace millrace::runtime

#include "server/generation_fields.h"

#include <algorithm>
#include <charconv>

#include "decode/processor.h"
#include "draft/drafter.h"
#include "server/limits.h"

namespace millrace::server {
namespace {

using Fields = GenerationFields;
using L = RequestLimits;

Json strings_shape(std::size_t most, std::size_t longest) {
  const Json one = {{"type", "string"}, {"minLength", 1}, {"maxLength", longest}};
  return {{"anyOf", {one, {{"type", "array"}, {"items", one}, {"maxItems", most}}, {{"type", "null"}}}}};
}

Json ids_shape(std::size_t most) {
  return {{"type", {"array", "null"}},
          {"items", {{"type", "integer"}, {"minimum", 0}, {"maximum", 2147483647}}},
          {"maxItems", most}};
}

// Of OpenAI's routes: what other servers do, and clients send to everybody.
void add_fields_not_done(GenerationSchema& schema) {
  const Json name = {{"type", "string"}, {"maxLength", L::kNameLength}};
  schema
      .listed("user", "the server knows its clients by their keys", name, {},
              [](Fields& f, const Json& value) { f.user = value.get<std::string>(); })
      .listed("safety_identifier", "the server knows its clients by their keys", name)
      .listed("metadata", "responses are not kept", {{"type", "object"}})
      .listed("store", "responses are not kept", {{"type", "boolean"}}, {false})
      .listed("service_tier", "there is one tier", {{"enum", {"auto", "default"}}})
      .listed("prompt_cache_key", "prefixes are found by their tokens", {{"type", "string"}})
      .listed("prompt_cache_retention", "cached pages stay as long as memory allows",
              {{"enum", {"in_memory", "in-memory", "24h"}}})
      .rejected("vllm_xargs", "there are no further processors of logits", {Json::object()})
      .rejected("kv_transfer_params", "keys and values stay in this server", {Json::object()});
}

// {"50256": -100}
Result<std::vector<decode::TokenBias>> read_logit_bias(const Json& value) {
  const std::string name = "logit_bias";
  if (!value.is_object()) return GenerationSchema::wrong_type(name, "an object of token ids and numbers");
  if (value.size() > L::kLogitBias) {
    return make_error(ErrorCode::kInvalidArgument, name, "logit_bias has {} entries: the limit is {}", value.size(),
                      L::kLogitBias);
  }
  std::vector<decode::TokenBias> out;
  for (const auto& [key, bias] : value.items()) {
    std::int32_t token = 0;
    const auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), token);
    if (error != std::errc() || end != key.data() + key.size() || token < 0) {
      return make_error(ErrorCode::kInvalidArgument, name, "a key of logit_bias is not a token id");
    }
    if (!bias.is_number() || !(std::abs(bias.get<double>()) <= 100.0)) {
      return make_error(ErrorCode::kInvalidArgument, name, "logit_bias of token {}: expected -100 to 100", token);
    }
    out.push_back({token, bias.get<float>()});
  }
  return out;
}

}  // namespace

void add_system_message(GenerationFields& fields) {
  if (fields.system.empty()) return;
  Json first = {{"role", "system"}, {"content", fields.system}};
  fields.messages.insert(fields.messages.begin(), std::move(first));
}

Result<std::vector<std::string>> read_strings(const std::string& name, const Json& value, std::size_t most,
                                              std::size_t longest) {
  std::vector<std::string> out;
  const auto add = [&](const Json& one) -> Result<void> {
    if (!one.is_string()) return GenerationSchema::wrong_type(name, "a string or a list of strings");
    const auto& text = one.get_ref<const std::string&>();
    if (const std::size_t n = characters(text); n == 0 || n > longest) {
      return make_error(ErrorCode::kInvalidArgument, name, "{} holds a string of {} characters: expected 1 to {}", name,
                        n, longest);
    }
    out.push_back(text);
    return {};
  };
  if (!value.is_array()) {
    if (auto added = add(value); !added) return added.error();
    return out;
  }
  if (value.size() > most) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} has {} entries: the limit is {}", name, value.size(),
                      most);
  }
  for (const Json& one : value) {
    if (auto added = add(one); !added) return added.error();
  }
  return out;
}

Result<std::vector<std::int32_t>> read_token_ids(const std::string& name, const Json& value, std::size_t most) {
  if (!value.is_array()) return GenerationSchema::wrong_type(name, "a list of token ids");
  if (value.size() > most) {
    return make_error(ErrorCode::kInvalidArgument, name, "{} has {} entries: the limit is {}", name, value.size(),
                      most);
  }
  std::vector<std::int32_t> out;
  out.reserve(value.size());
  for (const Json& one : value) {
    const auto id = GenerationSchema::whole(one);
    if (!id) return GenerationSchema::wrong_type(name, "a list of token ids");
    if (*id < 0 || *id > 2147483647) {
      return make_error(ErrorCode::kInvalidArgument, name, "{} has the token id {}: outside any vocabulary", name, *id);
    }
    out.push_back(static_cast<std::int32_t>(*id));
  }
  return out;
}

void add_sampling_fields(GenerationSchema& schema) {
  add_sampler_fields(schema);
  schema
      .integer(
          "seed", [](Fields& f) -> auto& { return f.seed; }, std::numeric_limits<std::int64_t>::min(),
          std::numeric_limits<std::int64_t>::max(),
          "Random seed; the same seed gives the same completion, whatever else is served")
      .field("logit_bias", "Logit bias: added to the logits of these token ids",
             {{"type", {"object", "null"}},
              {"maxProperties", L::kLogitBias},
              {"propertyNames", {{"pattern", "^(0|[1-9][0-9]{0,8})$"}}},
              {"additionalProperties", {{"type", "number"}, {"minimum", -100}, {"maximum", 100}}}},
             [](Fields& f, const Json& value) -> Result<void> {
               auto read = read_logit_bias(value);
               if (!read) return read.error();
               f.logit_bias = std::move(*read);
               return {};
             })
      .field("allowed_token_ids", "Token ids that may be sampled; no other is", ids_shape(L::kAllowedTokens),
             [](Fields& f, const Json& value) -> Result<void> {
               auto read = read_token_ids("allowed_token_ids", value, L::kAllowedTokens);
               if (!read) return read.error();
               f.allowed_token_ids = std::move(*read);
               return {};
             })
      .field("bad_words", "Texts that the completion must not contain", strings_shape(L::kBadWords, L::kBadWordLength),
             [](Fields& f, const Json& value) -> Result<void> {
               auto read = read_strings("bad_words", value, L::kBadWords, L::kBadWordLength);
               if (!read) return read.error();
               f.bad_words = std::move(*read);
               return {};
             });
}

void add_ending_fields(GenerationSchema& schema) {
  schema
      .integer(
          "min_tokens", [](Fields& f) -> auto& { return f.min_tokens; }, 0, L::kMaxTokens,
          "Min tokens of the completion; it does not end before")
      .field("stop", "Stop strings: the completion ends before the first of them",
             strings_shape(L::kStops, L::kStopLength),
             [](Fields& f, const Json& value) -> Result<void> {
               auto read = read_strings("stop", value, L::kStops, L::kStopLength);
               if (!read) return read.error();
               f.stop = std::move(*read);
               return {};
             })
      .field("stop_token_ids", "Stop token ids: the completion ends with the first of them",
             ids_shape(L::kStopTokenIds),
             [](Fields& f, const Json& value) -> Result<void> {
               auto read = read_token_ids("stop_token_ids", value, L::kStopTokenIds);
               if (!read) return read.error();
               f.stop_token_ids = std::move(*read);
               return {};
             })
      .boolean(
          "ignore_eos", [](Fields& f) -> auto& { return f.ignore_eos; },
          "Continue past the model's end-of-sequence tokens")
      .boolean(
          "include_stop_str_in_output", [](Fields& f) -> auto& { return f.include_stop_str_in_output; },
          "Include the stop string that ended the completion in its text")
      .boolean(
          "skip_special_tokens", [](Fields& f) -> auto& { return f.skip_special_tokens; },
          "Leave special tokens out of the text")
      .integer("n", [](Fields& f) -> auto& { return f.n; }, 1, L::kChoices, "Number of completions");
}

void add_stream_fields(GenerationSchema& schema) {
  schema
      .boolean(
          "stream", [](Fields& f) -> auto& { return f.stream; },
          "Stream the completion as server-sent events instead of one object")
      .object("stream_options", "What a stream sends beside the completion")
      .boolean(
          "stream_options.include_usage", [](Fields& f) -> auto& { return f.include_usage; },
          "End the stream with a chunk that has the usage counts")
      .boolean(
          "stream_options.continuous_usage_stats", [](Fields& f) -> auto& { return f.continuous_usage; },
          "Send the usage counts with every chunk of the stream")
      .listed("stream_options.include_obfuscation", "chunks have no padding", {{"type", "boolean"}}, {false})
      .integer(
          "stream_interval", [](Fields& f) -> auto& { return f.stream_interval; }, 1, 1024,
          "Tokens gathered into one chunk of the stream")
      .boolean(
          "return_token_ids", [](Fields& f) -> auto& { return f.return_token_ids; },
          "Return the token ids of prompt and completion beside the text")
      .boolean(
          "return_tokens_as_token_ids", [](Fields& f) -> auto& { return f.return_tokens_as_token_ids; },
          "Write the tokens of logprobs as token_id:N")
      .integer(
          "prompt_logprobs", [](Fields& f) -> auto& { return f.prompt_logprobs; }, 0, L::kLogprobs,
          "Return logprobs of the prompt's tokens, with this many of the most likely tokens at each position");
}

void add_serving_fields(GenerationSchema& schema) {
  schema
      .string(
          "model", [](Fields& f) -> auto& { return f.model; }, L::kNameLength,
          "Name of a model that this server serves")
      .integer(
          "truncate_prompt_tokens", [](Fields& f) -> auto& { return f.truncate_prompt_tokens; }, -1, L::kMaxTokens,
          "Keep only this many tokens at the end of the prompt; -1 = as many as the model takes")
      .integer(
          "priority", [](Fields& f) -> auto& { return f.priority; }, -1'000'000, 1'000'000,
          "Priority of the request under --scheduling-policy priority; a lower number is served sooner")
      .string(
          "cache_salt", [](Fields& f) -> auto& { return f.cache_salt; }, L::kSaltLength,
          "Salt of the prefix cache: requests share cached prefixes only within one API key and salt")
      .string(
          "request_id", [](Fields& f) -> auto& { return f.request_id; }, L::kNameLength,
          "Name of the request in logs and traces")
      .number(
          "timeout", [](Fields& f) -> auto& { return f.timeout_seconds; }, {0.0, 3600.0, true},
          "Time limit of the request in seconds, waiting included, after which it ends unfinished")
      .number(
          "ttft_target_ms", [](Fields& f) -> auto& { return f.ttft_target_ms; }, {0.0, 1e9},
          "Target of the time to first token under --scheduling-policy slo, in ms; 0 = none")
      .number(
          "tpot_target_ms", [](Fields& f) -> auto& { return f.tpot_target_ms; }, {0.0, 1e9},
          "Target of the time per output token under --scheduling-policy slo, in ms; 0 = none")
      .integer(
          "expected_tokens", [](Fields& f) -> auto& { return f.expected_tokens; }, 0, L::kMaxTokens,
          "Tokens that the completion will have, if the client knows; schedulers that predict lengths use it")
      .integer(
          "spec_tokens", [](Fields& f) -> auto& { return f.spec_tokens; }, 0, draft::kMaxTokens,
          "Max draft tokens a step, where the server speculates; 0 = no speculation for this request")
      .integer(
          "spec_branches", [](Fields& f) -> auto& { return f.spec_branches; }, 1, draft::kMaxBranches,
          "Max branches of the draft tree; at most the server's --spec-branches")
      .boolean(
          "timings", [](Fields& f) -> auto& { return f.timings; },
          "Return the request's timings: queue, prefill, decode, cached tokens, preemptions")
      .boolean(
          "timings_per_token", [](Fields& f) -> auto& { return f.timings; }, "Alias of timings (llama-server)")
      .boolean(
          "explain", [](Fields& f) -> auto& { return f.explain; }, "Return an explanation of the request's latency")
      .string(
          "session_id", [](Fields& f) -> auto& { return f.session_id; }, L::kNameLength,
          "Id of an open session: the prompt continues after its tokens, whose keys and values are kept");
  add_fields_not_done(schema);
}

decode::SamplingParams GenerationFields::sampling(const checkpoint::GenerationDefaults& defaults,
                                                  std::int64_t default_max_tokens, std::int64_t room,
                                                  std::uint64_t random_seed, const text::Tokenizer& tokenizer) const {
  decode::SamplingParams out;
  decode::set_sampler_options(out, given, [&](std::string_view name) { return defaults.value_of(name); }).or_throw();
  out.samplers = samplers;
  out.logit_bias = logit_bias;
  out.allowed_token_ids = allowed_token_ids;
  for (const std::string& word : bad_words) {  // as it stands in a text, and at its beginning (as vLLM does)
    for (const char* prefix : {"", " "}) {
      auto ids = tokenizer.encode(prefix + word, false, false);
      if (!ids.empty() && std::ranges::find(out.bad_words, ids) == out.bad_words.end()) {
        out.bad_words.push_back(std::move(ids));
      }
    }
  }
  out.seed = seed ? static_cast<std::uint64_t>(*seed) : random_seed;
  out.max_tokens = std::min(max_tokens.value_or(default_max_tokens), room);
  out.min_tokens = std::min(min_tokens, out.max_tokens);
  out.stop = stop;
  out.stop_token_ids = stop_token_ids;
  out.include_stop_str_in_output = include_stop_str_in_output;
  out.ignore_eos = ignore_eos;
  out.skip_special_tokens = skip_special_tokens;
  return out;
}

}  // namespace millrace::server

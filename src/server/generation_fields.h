#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/option_spec.h"
#include "chat/tools/tool_use.h"
#include "checkpoint/generation_config.h"
#include "decode/beam_search.h"
#include "decode/sampling_params.h"
#include "decode/sequence_breakers.h"
#include "engine/request.h"
#include "server/answer_constraint.h"
#include "server/schema.h"
#include "text/tokenizer.h"

namespace millrace::server {

// The fields of generating requests, of all routes. A field that the client did not send has its neutral value.
struct GenerationFields {
  std::string model;
  // sampling
  OptionValues given;  // values of samplers' options, checked
  std::vector<std::string> samplers;
  std::optional<std::int64_t> seed;
  std::vector<std::string> dry_sequence_breakers = decode::kDefaultSequenceBreakers;
  std::vector<decode::TokenBias> logit_bias;
  std::vector<std::int32_t> allowed_token_ids;
  std::vector<std::string> bad_words;
  // ending
  std::optional<std::int64_t> max_tokens;
  std::int64_t min_tokens = 0;
  std::vector<std::string> stop;
  std::vector<std::int32_t> stop_token_ids;
  bool ignore_eos = false, include_stop_str_in_output = false, skip_special_tokens = true;
  // answers
  int n = 1;
  std::optional<int> best_of;
  bool use_beam_search = false;
  decode::BeamOptions beams{.width = 0, .end_tokens = {}};  // width 0: best_of or n
  std::optional<int> logprobs;                              // completions: how many; chat: top_logprobs
  bool chat_logprobs = false;                               // chat: whether
  std::optional<int> prompt_logprobs;
  bool echo = false;
  bool return_token_ids = false, return_tokens_as_token_ids = false;
  // embeddings
  bool embedding_base64 = false;
  std::optional<std::int64_t> dimensions;
  engine::Pooling pooling = engine::Pooling::kLast;
  // stream
  bool stream = false, include_usage = false, continuous_usage = false;
  std::int64_t stream_interval = 1;
  // prompt
  Json prompt;                 // completions, embeddings: text, ids, or a list of either
  std::string suffix;          // completions: text after the gap that the model fills
  std::string system;          // Anthropic, Responses: becomes the first message
  std::string billing_header;  // Anthropic: cut off from `system` (billing_header.h)
  Json messages, tools, documents, chat_template_kwargs;
  bool add_generation_prompt = true, continue_final_message = false;
  bool truncate_conversation = false;  // Responses: drop turns until the prompt fits
  std::optional<bool> add_special_tokens;
  std::optional<std::int64_t> truncate_prompt_tokens;
  std::string text;  // tokenize
  bool return_token_strings = false, parse_special = true;
  // constraints of the answer
  std::optional<AnswerConstraint> constraint;
  Json tool_choice;
  Json text_format;  // Responses: the field as sent
  bool parallel_tool_calls = true;
  chat::tools::ToolUse tool_use;  // resolve_tool_choice() makes it from tools, tool_choice and parallel_tool_calls
  // reasoning
  std::string reasoning_effort;  // empty = the model's default
  std::optional<std::int64_t> thinking_token_budget;
  bool thinking_budget_is_wish = false;  // ignore the budget if the model has no token that ends reasoning
  std::optional<bool> thinking;          // the template's switch of reasoning, if it has one
  bool include_reasoning = true;         // the answer shows reasoning
  bool separate_reasoning = true;        // reasoning is not part of the content
  // serving
  int priority = 0;
  std::string cache_salt, user, request_id, session_id;
  std::optional<double> timeout_seconds;
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;
  std::int64_t expected_tokens = 0;
  std::optional<std::int64_t> spec_tokens, spec_branches;
  bool timings = false, explain = false;

  std::optional<decode::BeamOptions> beam_options() const;  // nothing without beam search
  // Sampling parameters, with the model's defaults for what the client did not send. `room`: the longest answer that
  // fits, in tokens. `random_seed` applies if the client sent no seed. Bad words become token sequences; the caller
  // sets DRY's sequence breakers.
  decode::SamplingParams sampling(const checkpoint::GenerationDefaults& defaults, std::int64_t default_max_tokens,
                                  std::int64_t room, std::uint64_t random_seed, const text::Tokenizer& tokenizer) const;
};

using GenerationSchema = Schema<GenerationFields>;

// Add groups of fields that routes have in common.
void add_sampling_fields(GenerationSchema& schema);
void add_sampler_fields(GenerationSchema& schema);  // part of add_sampling_fields(): options of samplers
// Adds one sampler option. `option` has the option's name, and may have a narrower range or another description.
void add_sampler_field(GenerationSchema& schema, const OptionSpec& option);
void add_ending_fields(GenerationSchema& schema);
void add_beam_fields(GenerationSchema& schema);
void add_stream_fields(GenerationSchema& schema);
void add_serving_fields(GenerationSchema& schema);

// Makes `system` the first message of the conversation.
void add_system_message(GenerationFields& fields);

// Reads a string or a list of up to `most` strings, each of up to `longest` characters. Errors name the field.
Result<std::vector<std::string>> read_strings(const std::string& name, const Json& value, std::size_t most,
                                              std::size_t longest);
Result<std::vector<std::int32_t>> read_token_ids(const std::string& name, const Json& value, std::size_t most);

}  // namespace millrace::server

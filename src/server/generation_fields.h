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

// The fields of all routes that generate. A field that the client does not send, or that its route lacks, has its
// default. Values are within the ranges of their schema; token ids are not checked against a vocabulary.
struct GenerationFields {
  struct Lora {
    std::string name;
    float scale = 1.0f;
  };
  std::string model;
  std::vector<Lora> lora;
  // sampling
  OptionValues given;  // options of logits processors, in range
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
  decode::BeamOptions beams{.width = 0, .end_tokens = {}};  // width 0: the larger of n and best_of
  std::optional<int> logprobs;                              // top tokens per position; chat's top_logprobs
  bool chat_logprobs = false;                               // chat's `logprobs`
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
  Json prompt;                 // completions, embeddings: text, token ids, or a list of either; unchecked
  std::string suffix;          // completions: text after the answer; empty: none
  std::string system;          // Anthropic, Responses: becomes the first message
  std::string billing_header;  // Anthropic: header cut off the beginning of `system` (billing_header.h)
  Json messages, tools, documents, chat_template_kwargs;
  bool add_generation_prompt = true, continue_final_message = false;
  bool truncate_conversation = false;  // Responses: leave out oldest turns until the prompt fits
  std::optional<bool> add_special_tokens;
  std::optional<std::int64_t> truncate_prompt_tokens;  // keeps so many last tokens; -1: all that fit
  std::string text;                                    // tokenize: the text
  bool return_token_strings = false, parse_special = true;
  // what the answer may be
  std::optional<AnswerConstraint> constraint;
  Json tool_choice;
  Json text_format;  // Responses: the field as the client sent it
  bool parallel_tool_calls = true;
  chat::tools::ToolUse tool_use;  // set_tools() and resolve_tool_choice() fill it
  // reasoning
  std::string reasoning_effort;  // empty: the template's default
  std::optional<std::int64_t> thinking_token_budget;
  // The budget is ignored, instead of an error, where the model has no token that ends its reasoning.
  bool thinking_budget_is_wish = false;
  std::optional<bool> thinking;    // reasoning on or off, where the template has a switch
  bool include_reasoning = true;   // the answer shows its reasoning
  bool separate_reasoning = true;  // reasoning is returned apart from the content
  // serving
  int priority = 0;
  std::string cache_salt, user, request_id, session_id;
  std::optional<double> timeout_seconds;
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;  // for scheduling; 0: no target
  std::int64_t expected_tokens = 0;                   // predicted length of the answer; 0: unknown
  std::optional<std::int64_t> spec_tokens, spec_branches;
  bool timings = false, explain = false;

  std::optional<decode::BeamOptions> beam_options() const;  // nothing: answers are sampled
  // The sampling parameters, with the model's `defaults` for what the client did not send. `room` is the number of
  // tokens that an answer may have after its prompt, and bounds max_tokens; `random_seed` counts where the client named
  // no seed. Tokenizes bad words. Sets neither dry_sequence_breakers nor what follows from the format of answers.
  decode::SamplingParams sampling(const checkpoint::GenerationDefaults& defaults, std::int64_t default_max_tokens,
                                  std::int64_t room, std::uint64_t random_seed, const text::Tokenizer& tokenizer) const;
};

inline constexpr double kMaxLoraScale = 100.0;

using GenerationSchema = Schema<GenerationFields>;

// Each of these functions adds a group of fields that several routes share.
void add_sampling_fields(GenerationSchema& schema);
// The options of logits processors; add_sampling_fields() includes them.
void add_sampler_fields(GenerationSchema& schema);
// Adds the option of one logits processor, and its alias. `option` has the processor option's name, and may have a
// narrower range or another help text.
void add_sampler_field(GenerationSchema& schema, const OptionSpec& option);
void add_ending_fields(GenerationSchema& schema);
void add_beam_fields(GenerationSchema& schema);
void add_adapter_fields(GenerationSchema& schema);
void add_stream_fields(GenerationSchema& schema);
void add_serving_fields(GenerationSchema& schema);

// Inserts fields.system, unless it is empty, as a system message at the beginning of fields.messages. Call it once.
void add_system_message(GenerationFields& fields);

// Reads the field `name`: a string, or a list of at most `most` strings. Each has 1 to `longest` characters.
// kInvalidArgument naming the field.
Result<std::vector<std::string>> read_strings(const std::string& name, const Json& value, std::size_t most,
                                              std::size_t longest);
// Reads the field `name`: a list of at most `most` token ids in [0, 2^31 - 1]. kInvalidArgument naming the field.
Result<std::vector<std::int32_t>> read_token_ids(const std::string& name, const Json& value, std::size_t most);

}  // namespace millrace::server

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

// What a client says of how answers are made, whatever the route; what it does not say is empty.
struct GenerationFields {
  std::string model;
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
  std::string suffix;          // completions: fill in what comes between
  std::string system;          // Anthropic, Responses: joins the messages
  std::string billing_header;  // Anthropic: came before `system` (billing_header.h)
  Json messages, tools, documents, chat_template_kwargs;
  bool add_generation_prompt = true, continue_final_message = false;
  bool truncate_conversation = false;  // Responses: by turns, until it fits
  std::optional<bool> add_special_tokens;
  std::optional<std::int64_t> truncate_prompt_tokens;
  std::string text;  // tokenize
  bool return_token_strings = false, parse_special = true;
  // what the answer may be
  std::optional<AnswerConstraint> constraint;
  Json tool_choice;
  Json text_format;  // Responses: as it came
  bool parallel_tool_calls = true;
  chat::tools::ToolUse tool_use;  // read_tools(): the two and tools
  // reasoning
  std::string reasoning_effort;  // empty: the model's own
  std::optional<std::int64_t> thinking_token_budget;
  bool thinking_budget_is_wish = false;  // of no effect where the model's reasoning cannot be ended so
  std::optional<bool> thinking;          // on or off, as far as the template has a switch
  bool include_reasoning = true;         // in the answer
  bool separate_reasoning = true;        // from its content
  // serving
  int priority = 0;
  std::string cache_salt, user, request_id, session_id;
  std::optional<double> timeout_seconds;
  double ttft_target_ms = 0.0, tpot_target_ms = 0.0;
  std::int64_t expected_tokens = 0;
  std::optional<std::int64_t> spec_tokens, spec_branches;
  bool timings = false, explain = false;

  std::optional<decode::BeamOptions> beam_options() const;  // nothing: answers are drawn
  // With the model's own defaults for what was not said. `room`: tokens of an answer that fit; `seed` where none was
  // named. Bad words become sequences of tokens here; the texts that break DRY's sequences are left to the caller.
  decode::SamplingParams sampling(const checkpoint::GenerationDefaults& defaults, std::int64_t default_max_tokens,
                                  std::int64_t room, std::uint64_t random_seed, const text::Tokenizer& tokenizer) const;
};

using GenerationSchema = Schema<GenerationFields>;

// Groups of fields that routes have in common.
void add_sampling_fields(GenerationSchema& schema);
void add_sampler_fields(GenerationSchema& schema);  // part of the former: options of logits processors
// One of them; the spec has a processor's option's name and may have a narrower range, or other words.
void add_sampler_field(GenerationSchema& schema, const OptionSpec& option);
void add_ending_fields(GenerationSchema& schema);
void add_beam_fields(GenerationSchema& schema);
void add_stream_fields(GenerationSchema& schema);
void add_serving_fields(GenerationSchema& schema);

// What stands before the conversation, where it came in a field of its own, becomes its first message.
void add_system_message(GenerationFields& fields);

// A string or a list of strings.
Result<std::vector<std::string>> read_strings(const std::string& name, const Json& value, std::size_t most,
                                              std::size_t longest);
Result<std::vector<std::int32_t>> read_token_ids(const std::string& name, const Json& value, std::size_t most);

}  // namespace millrace::server

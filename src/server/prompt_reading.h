#pragma once

#include "server/generation.h"

namespace millrace::server {

// Fields of requests that become prompts, and the functions that make prompts from them.

// Adds the field `name`: text, a list of token ids, or a list of at most `most` of either. The entry stores the value
// unchecked in fields.prompt; read_prompts() checks it.
void add_prompt_field(GenerationSchema& schema, const std::string& name, std::size_t most);
// Reads fields.prompt into task.prompts and task.prompt_texts, and tokenizes texts; special tokens in a text are read
// as such. kInvalidArgument naming `field` for a wrong type, a text without tokens, a token id outside the vocabulary,
// a list that mixes texts and ids, or one of more than `most` entries. Needs task.model.
Result<void> read_prompts(GenerationTask& task, const std::string& field, std::size_t most);
// Where the request has a suffix, each prompt becomes prompt and suffix between the vocabulary's tokens for that, and
// the answer also ends with those that end a middle. Without a suffix, changes nothing. kUnsupported naming suffix
// where the vocabulary lacks these tokens.
Result<void> fill_in_middle(GenerationTask& task);

// Adds messages, tools, tool_choice, documents, variables of the chat template, and the fields of reasoning.
void add_chat_prompt_fields(GenerationSchema& schema);
// Renders fields.messages by the model's chat template, appends the tokens to task.prompts and sets task.reading. With
// fields.truncate_conversation it leaves out the oldest turns until the rest fits, in O(log(turns)) renderings.
// kUnsupported naming messages for a model without a template, naming tools for a server with --tool-call-parser none;
// kInvalidArgument naming the field. The prompt may still be too long: make_requests() checks its length.
Result<void> render_chat(GenerationTask& task);

}  // namespace millrace::server

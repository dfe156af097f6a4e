#pragma once

#include "server/generation.h"

namespace millrace::server {

// Reads prompts: fields, and their conversion to tokens.

// Adds a field for prompts: a text, token ids, or a list of up to `most` of either.
void add_prompt_field(GenerationSchema& schema, const std::string& name, std::size_t most);
// Tokenizes fields.prompt into task.prompts and prompt_texts. kInvalidArgument names `field`.
Result<void> read_prompts(GenerationTask& task, const std::string& field, std::size_t most);
// If there is a suffix, makes each prompt a fill-in-the-middle prompt: prefix, suffix, and the token for the middle.
// kUnsupported if the vocabulary lacks these tokens.
Result<void> fill_in_middle(GenerationTask& task);

// Adds the fields messages, tools, documents and those of the chat template.
void add_chat_prompt_fields(GenerationSchema& schema);
// Renders fields.messages into the task's only prompt. kUnsupported for a model without a template.
Result<void> render_chat(GenerationTask& task);

}  // namespace millrace::server

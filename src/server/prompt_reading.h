#pragma once

#include "server/generation.h"

namespace millrace::server {

// What becomes a prompt, and how.

// Text, ids, or a list of either.
void add_prompt_field(GenerationSchema& schema, const std::string& name, std::size_t most);
// fields.prompt -> task.prompts and prompt_texts. kInvalidArgument naming `field`.
Result<void> read_prompts(GenerationTask& task, const std::string& field, std::size_t most);
// With a suffix: each prompt becomes prefix, suffix and the token that asks for the middle. kUnsupported where the
// vocabulary has none.
Result<void> fill_in_middle(GenerationTask& task);

// messages, tools, documents and what the template takes.
void add_chat_prompt_fields(GenerationSchema& schema);
// fields.messages -> the one prompt of the task. kUnsupported for a model without a template.
Result<void> render_chat(GenerationTask& task);

}  // namespace millrace::server

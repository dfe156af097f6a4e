#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// The body of /v1/messages and of its count_tokens, into the fields that all routes have: system, text and tool blocks
// become messages as the OpenAI API spells them.
const GenerationSchema& anthropic_schema(bool counts_only);
Result<void> read_anthropic(const Json& body, bool counts_only, GenerationFields& to, FieldNotes& notes);

}  // namespace millrace::server

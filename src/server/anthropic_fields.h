#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// Reads bodies of /v1/messages, and with `counts_only` of its count_tokens, into GenerationFields. System, text and
// tool blocks become messages in the form of OpenAI's API. Errors name the field.
const GenerationSchema& anthropic_schema(bool counts_only);
Result<void> read_anthropic(const Json& body, bool counts_only, GenerationFields& to, FieldNotes& notes);

}  // namespace millrace::server

#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// The schema of the bodies of /v1/messages and, with `counts_only`, of /v1/messages/count_tokens.
const GenerationSchema& anthropic_schema(bool counts_only);
// Reads such a body into the fields that all routes share. Blocks of text, thinking and tools become messages as the
// OpenAI API spells them. kInvalidArgument or kUnsupported naming the field; adds to `notes` the fields that are
// ignored.
Result<void> read_anthropic(const Json& body, bool counts_only, GenerationFields& to, FieldNotes& notes);

}  // namespace millrace::server

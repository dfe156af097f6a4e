#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// Adds the fields of structured output under the names of all servers: response_format (OpenAI), structured_outputs and
// the older guided_ fields (vLLM), grammar and json_schema (llama-server), regex and ebnf (SGLang). A request may use
// one of them.
void add_constraint_fields(GenerationSchema& schema);

// {"type": "text" | "json_object" | "json_schema" | "structural_tag" ...} of the field `name`. `flat`: name, schema and
// strict are members beside type, as in the Responses API.
Result<void> read_response_format(GenerationFields& to, const std::string& name, const Json& value, bool flat);

}  // namespace millrace::server

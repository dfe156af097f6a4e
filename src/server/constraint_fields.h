#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// What an answer's text must be, under all the names that servers have had for it: response_format (OpenAI),
// structured_outputs and the guided_ fields before it (vLLM), grammar and json_schema (llama-server), regex and ebnf
// (SGLang). One of them at most.
void add_constraint_fields(GenerationSchema& schema);

// {"type": "text" | "json_object" | "json_schema" | "structural_tag" ...} of the field `name`. `flat`: name, schema and
// strict stand beside type, as the Responses API has it.
Result<void> read_response_format(GenerationFields& to, const std::string& name, const Json& value, bool flat);

}  // namespace millrace::server

#pragma once

#include "server/generation_fields.h"

namespace millrace::server {

// Adds the fields that constrain the text of answers, under the names of several servers: response_format (OpenAI),
// structured_outputs and the older guided_ fields (vLLM), grammar and json_schema (llama-server), regex and ebnf
// (SGLang). Each sets fields.constraint; a second one is kInvalidArgument naming its field.
void add_constraint_fields(GenerationSchema& schema);

// Reads {"type": "text" | "json_object" | "json_schema" | "structural_tag" ...} of the field `name` into to.constraint;
// type text sets none. `flat`: name, schema and strict stand beside type, as in the Responses API. kInvalidArgument
// naming the field. The grammar is not compiled here.
Result<void> read_response_format(GenerationFields& to, const std::string& name, const Json& value, bool flat);

}  // namespace millrace::server

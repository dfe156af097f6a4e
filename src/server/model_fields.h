#pragma once

#include <string>

#include "server/pooled_reply.h"

namespace millrace::server {

// The body of requests to load and unload a model, as llama-server's router spells them.
struct ModelFields {
  std::string model;  // never empty
};
const Schema<ModelFields>& model_schema();
// Reads the call's body; the error says what is wrong with it.
Result<ModelFields> read_model_fields(const ServerContext& server, const Call& call);

}  // namespace millrace::server

#pragma once

#include <string>

#include "server/schema.h"

namespace millrace::server {

// The body of requests to load and unload a model, as llama-server's router spells them.
struct ModelFields {
  std::string model;
};
const Schema<ModelFields>& model_schema();

}  // namespace millrace::server

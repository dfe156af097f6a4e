#include "server/hosted_model.h"

#include <chrono>

namespace millrace::server {

std::int64_t unix_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HostedModel::HostedModel(std::string model_name, ModelParts parts, Env& env)
    : name(std::move(model_name)),
      tokenizer(parts.tokenizer),
      chat(parts.chat),
      generation(parts.generation),
      path(parts.path),
      parameters(parts.parameters),
      weight_bytes(parts.weight_bytes),
      weight_bytes_per_step(parts.weight_bytes_per_step),
      trained_length(parts.trained_length),
      hidden_size(parts.hidden_size),
      max_length(parts.engine->max_length()),
      vocab_size(parts.engine->vocab_size()),
      kv_bytes(static_cast<std::int64_t>(parts.engine->kv_bytes())),
      created(unix_time()),
      grammars(tokenizer),
      foundation_(std::move(parts.foundation)),
      engine(std::move(parts.engine), env) {}

}  // namespace millrace::server

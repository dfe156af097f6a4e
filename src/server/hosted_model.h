#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "checkpoint/generation_config.h"
#include "engine/engine_client.h"
#include "server/model_profile.h"

namespace millrace::server {

// A loaded model as the application hands it to the server.
struct ModelParts {
  std::shared_ptr<void> resources;  // kept alive for the engine: weights, backend, disk tier
  std::unique_ptr<engine::EngineClient> engine;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const chat::ChatFormat> chat;          // null: the model has no template
  const chat::tools::ToolFormat* tool_format = nullptr;  // see choose_formats()
  const chat::reasoning::ReasoningFormat* reasoning_format = nullptr;
  checkpoint::GenerationDefaults generation;
  std::string path;
  std::int64_t parameters = 0, weight_bytes = 0, weight_bytes_per_step = 0, trained_length = 0, hidden_size = 0;
  std::int64_t drafting_bytes = 0;  // of a draft model or speculator, with their pages
  engine::MachinePeaks peaks;
};

// Sets the formats of tool calls and reasoning by name. "auto": detected from the chat template; "none": null.
// kInvalidArgument for unknown names.
Result<void> choose_formats(const std::string& tool_parser, const std::string& reasoning_parser, ModelParts& parts);

// A loaded model with its engine. Shared: it is unloaded with the last reference.
class HostedModel final : public ModelProfile {
 public:
  HostedModel(std::string model_name, ModelParts model_parts);

  const std::string path;
  const std::int64_t parameters, weight_bytes, weight_bytes_per_step, trained_length, kv_bytes, drafting_bytes;
  const std::int64_t kv_capacity;  // tokens that kv_bytes hold
  const std::int64_t created;      // Unix time of loading

  std::int64_t memory_bytes() const noexcept { return weight_bytes + kv_bytes + drafting_bytes; }

 private:
  std::shared_ptr<void> resources_;

 public:
  const std::unique_ptr<engine::EngineClient> engine;  // last: it uses all other members
};

std::int64_t unix_time();

}  // namespace millrace::server

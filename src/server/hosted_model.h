#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/generation_config.h"
#include "engine/engine_client.h"
#include "server/model_profile.h"

namespace millrace::model {
class AdapterStore;  // model/adapters/adapter_store.h
}  // namespace millrace::model

namespace millrace::server {

// How a model's weights, keys and values are stored, to be shown.
struct ModelStorage {
  std::string format;              // of the weights in the files: "GPTQ: 4-bit, groups of 128"; empty: unknown
  std::string maker, calibration;  // as the files say; empty: they do not
  double bits_per_weight = 0.0;    // in the files
  std::string quantization;        // what loading made of the weights: "q4_k"; empty: they stayed
  std::string kv_cache_dtype;      // "bf16"
};

// A loaded model as ModelEntry::load returns it. A HostedModel is made from it.
struct ModelParts {
  std::shared_ptr<void> resources;  // what the engine uses, such as weights; outlives `engine`
  std::unique_ptr<engine::EngineClient> engine;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  std::shared_ptr<const chat::ChatFormat> chat;          // null: the model has no template
  const chat::tools::ToolFormat* tool_format = nullptr;  // this and reasoning_format: see choose_formats()
  const chat::reasoning::ReasoningFormat* reasoning_format = nullptr;
  std::string tool_parser = "auto", reasoning_parser = "auto";  // the choice that was made, see choose_formats()
  checkpoint::GenerationDefaults generation;
  std::string path;  // of the model's files
  ModelStorage storage = {};
  // parameters: number of weights; weight_bytes: in memory; weight_bytes_per_step: that a step must read;
  // trained_length: tokens of the context that the model was trained for; hidden_size: numbers of an embedding.
  std::int64_t parameters = 0, weight_bytes = 0, weight_bytes_per_step = 0, trained_length = 0, hidden_size = 0;
  std::int64_t adapter_bytes = 0;                      // of memory kept for adapters
  std::int64_t drafting_bytes = 0;                     // memory of a draft model or speculator, with its pages
  std::shared_ptr<const engine::LivePeaks> peaks;      // measured; null: unknown
  std::shared_ptr<model::AdapterStore> adapters = {};  // null: it takes none
};

// Sets tool_format and reasoning_format of `parts`, by parts.chat. Each parser is the name of a format;
// "none" gives null, and "auto" the format that the chat template shows. Where it shows no format of tool calls, "auto"
// gives the generic one. kInvalidArgument naming tool-call-parser or reasoning-parser for other names.
Result<void> choose_formats(const std::string& tool_parser, const std::string& reasoning_parser, ModelParts& parts);

// A loaded model with its engine. Everyone who uses it holds it by a shared_ptr; ModelHost unloads it only once no
// other holder is left. Thread-safe. parts.tokenizer and parts.engine must not be null.
class HostedModel final : public ModelProfile {
 public:
  HostedModel(std::string model_name, ModelParts model_parts, const std::vector<std::string>& aliases = {});
  ~HostedModel();

  const std::string path;
  const ModelStorage storage;
  const std::int64_t parameters, weight_bytes, weight_bytes_per_step, trained_length, kv_bytes, drafting_bytes,
      adapter_bytes;
  const std::int64_t kv_capacity;                       // tokens that kv_bytes hold
  const std::int64_t created;                           // Unix time in seconds when the model was loaded
  const std::vector<std::string> names;                 // its own, and aliases
  const std::shared_ptr<model::AdapterStore> adapters;  // null: it takes none

  // What the model is for conversations with other templates.
  std::shared_ptr<ModelProfile> with_chat(std::shared_ptr<const chat::ChatFormat> other) const;
  std::int64_t memory_bytes() const noexcept { return weight_bytes + kv_bytes + drafting_bytes + adapter_bytes; }

 private:
  const std::string tool_parser_, reasoning_parser_;
  std::shared_ptr<void> resources_;

 public:
  const std::unique_ptr<engine::EngineClient> engine;  // last, as it uses all other members
};

// The error for a name that no model and no adapter has.
Error unknown_model();

// Seconds since 1970, by the system's clock.
std::int64_t unix_time();

}  // namespace millrace::server

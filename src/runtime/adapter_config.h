#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/adapters/adapter_options.h"
#include "model/adapters/adapter_store.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

inline constexpr std::int64_t kMaxLoraRank = 1024, kMaxLoras = 1 << 20;

struct NamedAdapter {
  std::string name, path;
};

// The adapters of a model. Errors name a field by its flag: "max-lora-rank".
struct AdapterConfig {
  std::vector<NamedAdapter> lora;   // names are different, and not empty
  bool merge = false;               // `lora` is one, which merge_into() takes into the model's weights
  std::string lora_dir;             // adapters inside it may be loaded later; empty: none
  std::int64_t max_loras = 0;       // in memory at once, those of `lora` included, [0, kMaxLoras]; 0 = no limit
  std::uint64_t lora_memory = 0;    // bytes of them; 0 = no limit
  std::string lora_full = "queue";  // one of full_modes()
  std::string lora_unload_waiting = "finish";  // one of waiting_modes()
  std::string type = "auto";                   // one of adapter_types()
  std::int64_t max_lora_rank = 512;            // greater ones are rejected, [1, kMaxLoraRank]
  bool lora_ignore_template = false;           // adapters' own tokenizers and chat templates are not looked at

  // kInvalidArgument naming the first invalid field, its value and the limit. Reads no file.
  Result<void> validate() const;
  model::AdapterOptions options() const;      // of valid fields
  model::AdapterStore::Config store() const;  // the same
  // Where `merge` says so, makes the adapter one that loading the model merges into its weights, and forgets it here.
  // Throws LoadError: the error of validate().
  void merge_into(ModelConfig& model);
};

const std::vector<std::string>& adapter_types();
const std::vector<std::string>& waiting_modes();  // "finish", "reject": requests that wait for an unloaded adapter
const std::vector<std::string>& full_modes();     // "queue", "reject": what becomes of requests where there is no room

// NAME=DIR, or a directory alone, whose last component is the name then. kInvalidArgument naming `flag`.
Result<NamedAdapter> parse_named_adapter(std::string_view flag, const std::string& text);

}  // namespace millrace::runtime

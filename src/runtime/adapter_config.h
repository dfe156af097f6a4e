#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/adapters/adapter_store.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

inline constexpr std::int64_t kMaxLoraRank = 1024;

struct NamedAdapter {
  std::string name, path;
};

// The adapters of a model. Errors name a field by its flag: "max-lora-rank".
struct AdapterConfig {
  std::vector<NamedAdapter> lora;    // names are different, and not empty
  bool merge = false;                // `lora` is one, which merge_into() takes into the model's weights
  std::string lora_dir;              // adapters inside it may be loaded later; empty: none
  std::string type = "auto";         // one of adapter_types()
  std::int64_t max_lora_rank = 512;  // greater ones are rejected, [1, kMaxLoraRank]

  // kInvalidArgument naming the first invalid field, its value and the limit. Reads no file.
  Result<void> validate() const;
  model::AdapterOptions options() const;  // of valid fields
  // Where `merge` says so, makes the adapter one that loading the model merges into its weights, and forgets it here.
  // Throws LoadError: the error of validate().
  void merge_into(ModelConfig& model);
};

const std::vector<std::string>& adapter_types();

// NAME=DIR, or a directory alone, whose last component is the name then. kInvalidArgument naming `flag`.
Result<NamedAdapter> parse_named_adapter(std::string_view flag, const std::string& text);

}  // namespace millrace::runtime

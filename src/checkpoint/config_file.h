#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "checkpoint/gguf_metadata.h"

namespace millrace::checkpoint {

// What a model's files say of its shape, as read and not yet understood: config.json, or the metadata of a GGUF file
// without its tokenizer. Which fields mean what, and which a model needs, is the business of its family
// (config_view.h). Immutable once made.
struct ConfigFile {
  std::string file;          // names it in messages
  std::string architecture;  // the model's class (config.json) or general.architecture
  std::string name;          // general.name or _name_or_path; may be empty
  std::int64_t tokens = 0;   // GGUF: of the tokenizer beside it
  bool gguf = false;
  nlohmann::json json = nlohmann::json::object();  // config.json
  // The file that json's kQuantizationField is from where that is not config.json.
  std::string quantization_file;
  GgufMetadata metadata{""};  // GGUF
};

// In config.json: how the weights are quantized. GGUF has it in the tensors.
inline constexpr std::string_view kQuantizationField = "quantization_config";
// What GPTQ's tools write beside config.json: that object alone. Older files have it only there.
inline constexpr std::string_view kQuantizationFile = "quantize_config.json";

// The readers throw LoadError: no JSON object, or an architecture that is missing or of another type.
ConfigFile read_config_json(const std::string& file, std::string_view text);
ConfigFile read_config_metadata(const GgufMetadata& metadata);

}  // namespace millrace::checkpoint

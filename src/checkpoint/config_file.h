#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

#include "checkpoint/gguf_metadata.h"

namespace millrace::checkpoint {

// A model's configuration as read from its files and not yet interpreted: config.json, or the metadata of a GGUF file
// without its tokenizer. The model's family decides which fields it needs and what they mean (config_view.h). Immutable
// after reading.
struct ConfigFile {
  std::string file;          // its name in messages
  std::string architecture;  // model class (config.json) or general.architecture (GGUF)
  std::string name;          // general.name or _name_or_path; may be empty
  std::string licence;       // GGUF only: general.license; may be empty
  std::int64_t tokens = 0;   // GGUF only: number of tokens of its tokenizer
  // model_type of config.json's text_config: a checkpoint of several modalities, of which `json` has the text model's
  // fields, and those of the whole that it leaves out; the head is tied if either says so. Empty: there is no
  // text_config.
  std::string text_type;
  std::set<std::string> whole_fields;  // those of the whole
  bool gguf = false;
  nlohmann::json json = nlohmann::json::object();  // content of config.json; not for GGUF
  // The file that json's kQuantizationField comes from, if it is not config.json.
  std::string quantization_file;
  GgufMetadata metadata{""};  // GGUF only

  // Whether the files have more than a text model; not for GGUF.
  bool has_other_modalities() const {
    return !text_type.empty() || json.contains("vision_config") || json.contains("audio_config");
  }
};

// The field of config.json that describes how weights are quantized. In GGUF the tensors do.
inline constexpr std::string_view kQuantizationField = "quantization_config";
// The file that GPTQ's tools write besides config.json; it holds that object alone. Older checkpoints have it only
// there.
inline constexpr std::string_view kQuantizationFile = "quantize_config.json";
// What TensorRT's Model Optimizer writes instead: {"quantization": {"quant_algo": "FP8", ...}}.
inline constexpr std::string_view kModelOptFile = "hf_quant_config.json";
// The field of MLX, which names no method: a value of kQuantizationField that has this method stands for it.
inline constexpr std::string_view kMlxField = "quantization", kMlxMethod = "mlx";

// The readers throw LoadError for what is no JSON object, and for an architecture that is missing or of another type.
ConfigFile read_config_json(const std::string& file, std::string_view text);
ConfigFile read_config_metadata(const GgufMetadata& metadata);

}  // namespace millrace::checkpoint

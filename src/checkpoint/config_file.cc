#include "checkpoint/config_file.h"

#include "checkpoint/json_fields.h"

namespace millrace::checkpoint {

ConfigFile read_config_json(const std::string& file, std::string_view text) {
  ConfigFile config;
  config.file = file;
  config.json = parse_json_object(file, text);
  const JsonFields fields(file, config.json);
  const nlohmann::json* list = fields.find("architectures");
  if (list == nullptr || !list->is_array() || list->empty() || !list->front().is_string()) {
    fields.wrong_type("architectures", "a list with the model's class");
  }
  config.architecture = list->front().get<std::string>();
  config.name = fields.text("_name_or_path").value_or("");
  if (const auto text_model = fields.object("text_config")) {
    const nlohmann::json own = config.json.at("text_config");
    config.text_type = text_model->text("model_type").value_or("");
    config.json.erase("text_config");
    for (const auto& [key, value] : config.json.items()) {
      if (!own.contains(key)) config.whole_fields.insert(key);
    }
    const bool tied = fields.boolean("tie_word_embeddings").value_or(false);
    for (const auto& [key, value] : own.items()) {
      if (key != "architectures") config.json[key] = value;
    }
    if (tied) config.json["tie_word_embeddings"] = true;
  }
  return config;
}

namespace {

// What a model is licensed under changes nothing: of another type it counts as absent.
std::string licence_of(const GgufMetadata& metadata) {
  try {
    return metadata.text("general.license").value_or("");
  } catch (const LoadError&) {
    return "";
  }
}

}  // namespace

ConfigFile read_config_metadata(const GgufMetadata& metadata) {
  ConfigFile config;
  config.file = metadata.file();
  config.gguf = true;
  config.architecture = metadata.required_text("general.architecture");
  config.name = metadata.text("general.name").value_or("");
  config.licence = licence_of(metadata);
  config.tokens = static_cast<std::int64_t>(metadata.string_count("tokenizer.ggml.tokens"));
  config.metadata = GgufMetadata(metadata.file());
  for (const auto& [key, value] : metadata.entries()) {
    const bool of_model = key.starts_with(config.architecture + ".") || key.starts_with("xielu.");
    // How the file came about, which inspect shows.
    const bool of_file =
        key == "general.file_type" || key == "general.quantized_by" || key.starts_with("quantize.imatrix.");
    if (of_model || of_file) config.metadata.add(key, value);
  }
  return config;
}

}  // namespace millrace::checkpoint

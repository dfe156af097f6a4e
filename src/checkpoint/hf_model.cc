#include "checkpoint/hf_model.h"

#include <filesystem>
#include <utility>

#include "checkpoint/hf_config.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/safetensors_shards.h"

namespace millrace::checkpoint {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 4 << 20;
constexpr std::uint64_t kMaxTokenizerBytes = 128 << 20;

std::string required_file(Env& env, const std::string& path, std::uint64_t limit) {
  if (auto text = read_optional_file(env, path, limit)) return *std::move(text);
  throw_load_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
}

// A string, or a list of {"name", "template"} of which "default" is meant.
std::string template_of(const JsonFields& fields) {
  const nlohmann::json* value = fields.find("chat_template");
  if (value == nullptr) return {};
  if (!value->is_array()) return fields.text("chat_template").value_or("");
  for (const nlohmann::json& entry : *value) {
    if (!entry.is_object()) fields.wrong_type("chat_template", "a string or a list of named templates");
    const JsonFields named(fields.file(), entry, "chat_template.");
    if (named.text("name") == "default") return named.text("template").value_or("");
  }
  return {};
}

// Newer repositories keep the template in a file of its own, which then wins over tokenizer_config.json.
std::string read_chat_template(Env& env, const std::string& directory, const std::string& tokenizer_config) {
  if (auto jinja = read_optional_file(env, directory + "/chat_template.jinja", kMaxConfigBytes))
    return *std::move(jinja);
  const std::string own_file = directory + "/chat_template.json";
  if (const auto text = read_optional_file(env, own_file, kMaxConfigBytes)) {
    const nlohmann::json json = parse_json_object(own_file, *text);
    if (std::string found = template_of(JsonFields(own_file, json)); !found.empty()) return found;
  }
  if (tokenizer_config.empty()) return {};
  const std::string file = directory + "/tokenizer_config.json";
  const nlohmann::json json = parse_json_object(file, tokenizer_config);
  return template_of(JsonFields(file, json));
}

GenerationDefaults read_generation(Env& env, const std::string& directory, const std::string& config_json) {
  const std::string file = directory + "/generation_config.json";
  GenerationDefaults generation;
  if (const auto text = read_optional_file(env, file, kMaxConfigBytes))
    generation = parse_generation_config(file, *text);
  if (generation.eos_token_ids.empty()) {
    generation.eos_token_ids = parse_generation_config(directory + "/config.json", config_json).eos_token_ids;
  }
  return generation;
}

std::unique_ptr<Checkpoint> open(Env& env, const std::string& directory, TokenizerFiles* tokenizer_out) {
  auto checkpoint = std::make_unique<Checkpoint>();
  checkpoint->container = Checkpoint::Container::kSafetensors;
  checkpoint->path = directory;
  const std::string config_file = directory + "/config.json";
  const std::string config_json = required_file(env, config_file, kMaxConfigBytes);
  checkpoint->config = parse_hf_config(config_file, config_json);
  if (checkpoint->config.name.empty()) {
    checkpoint->config.name = std::filesystem::path(directory + "/").parent_path().filename().string();
  }
  open_safetensors(env, directory, *checkpoint);
  TokenizerFiles tokenizer;
  tokenizer.tokenizer_json = read_optional_file(env, directory + "/tokenizer.json", kMaxTokenizerBytes).value_or("");
  tokenizer.tokenizer_config_json =
      read_optional_file(env, directory + "/tokenizer_config.json", kMaxTokenizerBytes).value_or("");
  checkpoint->chat_template = read_chat_template(env, directory, tokenizer.tokenizer_config_json);
  checkpoint->generation = read_generation(env, directory, config_json);
  *tokenizer_out = std::move(tokenizer);
  return checkpoint;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> read_huggingface(Env& env, const std::string& directory,
                                                     TokenizerFiles* tokenizer_out) {
  try {
    return open(env, directory, tokenizer_out);
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::checkpoint

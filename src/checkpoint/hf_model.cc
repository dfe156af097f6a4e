#include "checkpoint/hf_model.h"

#include <filesystem>
#include <utility>

#include "checkpoint/config_file.h"
#include "checkpoint/generation_config.h"
#include "checkpoint/json_fields.h"
#include "checkpoint/weight_files.h"

namespace millrace::checkpoint {
namespace {

constexpr std::uint64_t kMaxConfigBytes = 4 << 20;
constexpr std::size_t kMaxTemplates = 32;
constexpr std::uint64_t kMaxTokenizerBytes = 128 << 20;

std::string required_file(Env& env, const std::string& path, std::uint64_t limit) {
  if (auto text = read_optional_file(env, path, limit)) return *std::move(text);
  throw_load_error(ErrorCode::kNotFound, path, "{}: No such file or directory", path);
}

// A string, or a list of {"name", "template"}.
chat::ChatTemplateSet templates_of(const JsonFields& fields) {
  chat::ChatTemplateSet templates;
  const auto add = [&](const std::string& name, std::string source) {
    if (!source.empty()) templates.sources.insert_or_assign(name, std::move(source));
  };
  const nlohmann::json* value = fields.find("chat_template");
  if (value == nullptr) return templates;
  if (!value->is_array()) {
    add(std::string(chat::kDefaultTemplate), fields.text("chat_template").value_or(""));
    return templates;
  }
  for (const nlohmann::json& entry : *value) {
    if (!entry.is_object()) fields.wrong_type("chat_template", "a string or a list of named templates");
    const JsonFields named(fields.file(), entry, "chat_template.");
    if (const auto name = named.text("name")) add(*name, named.text("template").value_or(""));
  }
  return templates;
}

// Templates in files of their own: chat_template.jinja and additional_chat_templates/NAME.jinja.
chat::ChatTemplateSet template_files(Env& env, const std::string& directory) {
  chat::ChatTemplateSet templates;
  const auto add = [&](const std::string& name, const std::string& path) {
    auto source = read_optional_file(env, path, kMaxConfigBytes);
    if (source && !source->empty()) templates.sources.insert_or_assign(name, *std::move(source));
  };
  add(std::string(chat::kDefaultTemplate), directory + "/chat_template.jinja");
  const std::string additional = directory + "/additional_chat_templates";
  constexpr std::string_view kSuffix = ".jinja";
  for (const std::string& file : env.list(additional)) {
    if (templates.sources.size() > kMaxTemplates) {
      throw_load_error(ErrorCode::kBadFile, additional, "{}: more than {} templates", additional, kMaxTemplates);
    }
    if (file.ends_with(kSuffix)) add(file.substr(0, file.size() - kSuffix.size()), additional + "/" + file);
  }
  return templates;
}

// tokenizer.model, tiktoken.model, tokenizer.jsonl, or the first file named *.tiktoken.
std::string read_vocabulary(Env& env, const std::string& directory) {
  std::vector<std::string> names = {"tokenizer.model", "tiktoken.model", "tokenizer.jsonl"};
  for (const std::string& file : env.list(directory)) {
    if (file.ends_with(".tiktoken")) names.push_back(file);
  }
  for (const std::string& name : names) {
    if (auto contents = read_optional_file(env, directory + "/" + name, kMaxTokenizerBytes))
      return *std::move(contents);
  }
  return "";
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

// Puts what other files or fields say of quantized weights where kQuantizationField is expected.
void add_quantization(Env& env, const std::string& directory, ConfigFile& config) {
  const JsonFields fields(config.file, config.json);
  const auto add = [&](std::string_view name, std::string_view method) {
    const std::string file = (directory + "/").append(name);
    const auto text = read_optional_file(env, file, kMaxConfigBytes);
    if (!text) return false;
    nlohmann::json json = parse_json_object(file, *text);
    if (!method.empty()) {
      const nlohmann::json producer = json.value("producer", nlohmann::json());
      json = JsonFields(file, json).object("quantization") ? json.at("quantization") : json;
      json["quant_method"] = method;
      if (!producer.is_null()) json["producer"] = producer;
    }
    config.json[std::string(kQuantizationField)] = std::move(json);
    config.quantization_file = file;
    return true;
  };
  // MLX repeats its own field under the usual name.
  if (const auto mlx = fields.object(kMlxField); mlx && mlx->integer("group_size")) {
    nlohmann::json own = *fields.find(kMlxField);
    own["quant_method"] = kMlxMethod;
    config.json[std::string(kQuantizationField)] = std::move(own);
    return;
  }
  if (fields.find(kQuantizationField) != nullptr || add(kQuantizationFile, "")) return;
  add(kModelOptFile, "modelopt");
}

std::unique_ptr<Checkpoint> open(Env& env, const std::string& directory, TokenizerFiles* tokenizer_out) {
  auto checkpoint = std::make_unique<Checkpoint>();
  checkpoint->path = directory;
  const std::string config_file = directory + "/config.json";
  const std::string config_json = required_file(env, config_file, kMaxConfigBytes);
  checkpoint->config = read_config_json(config_file, config_json);
  add_quantization(env, directory, checkpoint->config);
  checkpoint->name = checkpoint->config.name;
  if (checkpoint->name.empty()) {
    checkpoint->name = std::filesystem::path(directory + "/").parent_path().filename().string();
  }
  // Quantized weights have codes, and towers of images positions and counters.
  const bool quantized = JsonFields(config_file, checkpoint->config.json).find(kQuantizationField) != nullptr;
  const bool integers = quantized || checkpoint->config.has_other_modalities();
  open_weights(env, directory, *checkpoint, integers ? &checkpoint->integers : nullptr);
  TokenizerFiles tokenizer;
  tokenizer.tokenizer_json = read_optional_file(env, directory + "/tokenizer.json", kMaxTokenizerBytes).value_or("");
  if (tokenizer.tokenizer_json.empty()) {
    tokenizer.vocabulary = read_vocabulary(env, directory);
  }
  tokenizer.tokenizer_config_json =
      read_optional_file(env, directory + "/tokenizer_config.json", kMaxTokenizerBytes).value_or("");
  checkpoint->chat_templates = read_chat_templates(env, directory, tokenizer.tokenizer_config_json);
  checkpoint->generation = read_generation(env, directory, config_json);
  *tokenizer_out = std::move(tokenizer);
  return checkpoint;
}

}  // namespace

chat::ChatTemplateSet read_chat_templates(Env& env, const std::string& directory, const std::string& tokenizer_config) {
  if (auto files = template_files(env, directory); !files.empty()) return files;
  const std::string own_file = directory + "/chat_template.json";
  if (const auto text = read_optional_file(env, own_file, kMaxConfigBytes)) {
    const nlohmann::json json = parse_json_object(own_file, *text);
    if (auto found = templates_of(JsonFields(own_file, json)); !found.empty()) return found;
  }
  if (tokenizer_config.empty()) return {};
  const std::string file = directory + "/tokenizer_config.json";
  const nlohmann::json json = parse_json_object(file, tokenizer_config);
  return templates_of(JsonFields(file, json));
}

Result<std::unique_ptr<Checkpoint>> read_huggingface(Env& env, const std::string& directory,
                                                     TokenizerFiles* tokenizer_out) {
  try {
    return open(env, directory, tokenizer_out);
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::checkpoint

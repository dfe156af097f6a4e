#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/output_file.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/gguf_writer.h"
#include "checkpoint/safetensors_writer.h"
#include "model/synth/synth_data.h"
#include "model/synth/synth_model.h"
#include "text/containers/tokenizer_json_writer.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using checkpoint::GgufEntry;

// general.file_type: llama.cpp's numbers (enum llama_ftype) for files of one format throughout.
std::uint32_t file_type(std::string_view format) {
  constexpr std::pair<std::string_view, std::uint32_t> kTypes[] = {
      {"f32", 0},   {"f16", 1},   {"q4_0", 2},  {"q4_1", 3},  {"q8_0", 7},  {"q5_0", 8},    {"q5_1", 9},
      {"q2_k", 10}, {"q3_k", 11}, {"q4_k", 14}, {"q5_k", 16}, {"q6_k", 18}, {"iq4_nl", 25}, {"bf16", 32}};
  constexpr std::uint32_t kDrafted = 1024;
  for (const auto& [name, type] : kTypes) {
    if (name == format) return type;
  }
  return kDrafted;
}

std::vector<GgufEntry> gguf_entries(const SynthModel& model) {
  const ModelConfig& config = model.config;
  std::vector<GgufEntry> entries = {{"general.architecture", config.architecture},
                                    {"general.type", std::string("model")},
                                    {"general.name", config.name},
                                    {"general.file_type", file_type(model.options.format->name)},
                                    {"general.quantization_version", std::uint32_t{2}}};
  const auto count = [&](const char* key, std::int64_t value) {
    entries.emplace_back(config.architecture + "." + key, static_cast<std::uint32_t>(value));
  };
  const auto number = [&](const char* key, double value) {
    entries.emplace_back(config.architecture + "." + key, static_cast<float>(value));
  };
  count("block_count", config.n_layers);
  count("context_length", config.context_length);
  count("embedding_length", config.hidden_size);
  count("feed_forward_length", config.intermediate_size);
  count("attention.head_count", config.n_heads);
  count("attention.head_count_kv", config.n_kv_heads);
  count("attention.key_length", config.head_dim);
  count("attention.value_length", config.value_dim);
  count("rope.dimension_count", config.rope.dim);
  count("vocab_size", config.vocab_size);
  number("rope.freq_base", config.rope.theta);
  number("attention.layer_norm_rms_epsilon", config.norm_eps);
  const auto& tokenizer = model.options.tokenizer.entries;
  entries.insert(entries.end(), tokenizer.begin(), tokenizer.end());
  return entries;
}

text::GgufVocabulary vocabulary_of(const SynthTokenizer& tokenizer) {
  checkpoint::GgufMetadata metadata("tokenizer");
  for (const GgufEntry& entry : tokenizer.entries) metadata.add(entry.first, entry.second);
  return checkpoint::gguf_vocabulary(metadata);
}

std::string chat_template_of(const SynthTokenizer& tokenizer) {
  for (const GgufEntry& entry : tokenizer.entries) {
    const auto* text = std::get_if<std::string>(&entry.second);
    if (entry.first == "tokenizer.chat_template" && text != nullptr) return *text;
  }
  return {};
}

nlohmann::ordered_json special_ids(const text::GgufVocabulary& vocabulary) {
  nlohmann::ordered_json ids = nlohmann::ordered_json::object();
  if (vocabulary.bos) ids["bos_token_id"] = *vocabulary.bos;
  if (vocabulary.eos) ids["eos_token_id"] = *vocabulary.eos;
  if (vocabulary.pad) ids["pad_token_id"] = *vocabulary.pad;
  return ids;
}

nlohmann::ordered_json config_json(const SynthModel& model, const nlohmann::ordered_json& ids) {
  const ModelConfig& config = model.config;
  const bool qwen3 = config.architecture == "Qwen3ForCausalLM";
  nlohmann::ordered_json json = {{"architectures", {config.architecture}},
                                 {"model_type", qwen3 ? "qwen3" : "llama"},
                                 {"_name_or_path", config.name},
                                 {"hidden_size", config.hidden_size},
                                 {"intermediate_size", config.intermediate_size},
                                 {"num_hidden_layers", config.n_layers},
                                 {"num_attention_heads", config.n_heads},
                                 {"num_key_value_heads", config.n_kv_heads},
                                 {"head_dim", config.head_dim},
                                 {"hidden_act", config.activation},
                                 {"max_position_embeddings", config.context_length},
                                 {"rms_norm_eps", config.norm_eps},
                                 {"rope_theta", config.rope.theta},
                                 {"vocab_size", config.vocab_size},
                                 {"tie_word_embeddings", config.tie_word_embeddings},
                                 {"attention_bias", false},
                                 {"use_cache", true}};
  const std::string_view dtype = model.options.format->name;
  json["torch_dtype"] = dtype == "bf16" ? "bfloat16" : dtype == "f16" ? "float16" : "float32";
  json.update(ids);
  return json;
}

Result<void> write_text(const fs::path& path, const std::string& text) {
  auto file = OutputFile::create(path.string());
  if (!file) return file.error();
  if (auto written = file->write(std::as_bytes(std::span(text))); !written) return written;
  return file->commit();
}

Result<void> write_directory_files(const SynthModel& model, const fs::path& directory) {
  if (!model.heads_config.empty()) return write_text(directory / "config.json", model.heads_config);
  nlohmann::ordered_json ids = nlohmann::ordered_json::object();
  if (!model.options.tokenizer.entries.empty()) {
    const text::GgufVocabulary vocabulary = vocabulary_of(model.options.tokenizer);
    ids = special_ids(vocabulary);
    auto tokenizer = text::tokenizer_files(vocabulary, chat_template_of(model.options.tokenizer));
    if (!tokenizer) return tokenizer.error();
    if (auto written = write_text(directory / "tokenizer.json", tokenizer->tokenizer_json); !written) return written;
    if (auto written = write_text(directory / "tokenizer_config.json", tokenizer->tokenizer_config_json); !written) {
      return written;
    }
  }
  if (auto written = write_text(directory / "generation_config.json", ids.dump(2) + "\n"); !written) return written;
  return write_text(directory / "config.json", config_json(model, ids).dump(2) + "\n");
}

}  // namespace

Result<void> write_synth(const SynthModel& model, const std::string& path, WorkerTeam& team,
                         const std::function<void(std::uint64_t bytes)>& progress) try {
  std::vector<checkpoint::TensorSpec> specs;
  for (const SynthTensor& tensor : model.tensors) specs.push_back(tensor.spec);
  const checkpoint::DataSource data = synth_data(model, team, progress);
  if (model.container == checkpoint::Checkpoint::Container::kGguf) {
    return checkpoint::write_gguf(path, gguf_entries(model), specs, data);
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return make_error(ErrorCode::kInvalidArgument, path, "{}: cannot be created: {}", path, error.message());
  const std::vector<checkpoint::SafetensorsMetadata> metadata = {{"format", "pt"}};
  const std::string weights = (fs::path(path) / "model.safetensors").string();
  if (auto written = checkpoint::write_safetensors(weights, metadata, specs, data); !written) return written;
  return write_directory_files(model, path);  // config.json last: a directory without it is no model
} catch (const LoadError& failure) {
  return failure.error();
}

}  // namespace millrace::model

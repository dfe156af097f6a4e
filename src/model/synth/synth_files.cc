#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>

#include "base/output_file.h"
#include "checkpoint/gguf_vocabulary.h"
#include "checkpoint/gguf_writer.h"
#include "checkpoint/safetensors_writer.h"
#include "model/synth/synth_config.h"
#include "model/synth/synth_data.h"
#include "model/synth/synth_model.h"
#include "text/containers/tokenizer_json_writer.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;
using checkpoint::GgufEntry;

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
  return write_text(directory / "config.json", synth_config_json(model, ids).dump(2) + "\n");
}

}  // namespace

Result<void> write_synth(const SynthModel& model, const std::string& path, WorkerTeam& team,
                         const std::function<void(std::uint64_t bytes)>& progress) try {
  std::vector<checkpoint::TensorSpec> specs;
  for (const SynthTensor& tensor : model.tensors) specs.push_back(tensor.spec);
  const checkpoint::DataSource data = synth_data(model, team, progress);
  if (model.container == checkpoint::Checkpoint::Container::kGguf) {
    return checkpoint::write_gguf(path, synth_gguf_entries(model), specs, data);
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

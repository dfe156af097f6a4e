#include "checkpoint/gguf_model.h"

#include <utility>

#include "checkpoint/config_file.h"
#include "checkpoint/gguf_parts.h"
#include "checkpoint/gguf_reader.h"
#include "checkpoint/gguf_vocabulary.h"

namespace millrace::checkpoint {
namespace {

// tokenizer.chat_template, and tokenizer.chat_template.NAME for the others.
chat::ChatTemplateSet chat_templates(const GgufMetadata& metadata) {
  constexpr std::string_view kKey = "tokenizer.chat_template", kNamed = "tokenizer.chat_template.";
  chat::ChatTemplateSet templates;
  for (const auto& [key, value] : metadata.entries()) {
    if (key != kKey && !key.starts_with(kNamed)) continue;
    const std::string name(key == kKey ? chat::kDefaultTemplate : std::string_view(key).substr(kNamed.size()));
    std::string source = metadata.text(key).value_or("");
    if (!source.empty()) templates.sources.insert_or_assign(name, std::move(source));
  }
  return templates;
}

std::unique_ptr<Checkpoint> open(Env& env, const std::string& path, text::GgufVocabulary* vocabulary_out) {
  auto checkpoint = std::make_unique<Checkpoint>();
  checkpoint->container = Checkpoint::Container::kGguf;
  checkpoint->path = path;
  checkpoint->files.push_back(env.open(path).or_throw());
  GgufHeader header = read_gguf_header(*checkpoint->files[0]);
  checkpoint->tensors = std::move(header.tensors);
  for (std::size_t i = 0; i < checkpoint->tensors.size(); ++i) {
    checkpoint->tensor_index.emplace(checkpoint->tensors[i].name, i);
  }
  add_gguf_parts(env, header, *checkpoint);
  checkpoint->config = read_config_metadata(header.metadata);
  checkpoint->name = checkpoint->config.name;
  checkpoint->chat_templates = chat_templates(header.metadata);
  *vocabulary_out = gguf_vocabulary(header.metadata);
  for (const auto& id : {vocabulary_out->eos, vocabulary_out->eot, vocabulary_out->eom}) {
    if (id) checkpoint->generation.eos_token_ids.push_back(*id);
  }
  return checkpoint;
}

}  // namespace

Result<std::unique_ptr<Checkpoint>> read_gguf(Env& env, const std::string& path, text::GgufVocabulary* vocabulary_out) {
  try {
    return open(env, path, vocabulary_out);
  } catch (const LoadError& e) {
    return e.error();
  }
}

}  // namespace millrace::checkpoint

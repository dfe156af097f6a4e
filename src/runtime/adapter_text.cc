#include "runtime/adapter_text.h"

#include <simdjson.h>

#include <algorithm>

#include "checkpoint/hf_model.h"
#include "checkpoint/json_fields.h"
#include "model/adapters/open_adapter.h"
#include "runtime/chat_prompt.h"
#include "text/containers/tokenizer_config.h"

namespace millrace::runtime {
namespace {

constexpr std::uint64_t kMaxTokenizerBytes = 256 << 20, kMaxConfigBytes = 64 << 20;

// The largest of the values that are whole numbers, or -1.
std::int64_t largest_value(simdjson::dom::object ids) {
  std::int64_t largest = -1;
  for (const auto& [name, value] : ids) {
    if (std::int64_t id = 0; value.get(id) == simdjson::SUCCESS) largest = std::max(largest, id);
  }
  return largest;
}

// The largest token of tokenizer.json.
std::int64_t largest_token(simdjson::dom::object tokenizer) {
  std::int64_t largest = -1;
  simdjson::dom::object by_text;
  simdjson::dom::array list;
  const auto vocabulary = tokenizer.at_pointer("/model/vocab");
  if (vocabulary.get(by_text) == simdjson::SUCCESS) largest = largest_value(by_text);
  if (vocabulary.get(list) == simdjson::SUCCESS) largest = static_cast<std::int64_t>(list.size()) - 1;
  if (tokenizer["added_tokens"].get(list) != simdjson::SUCCESS) return largest;
  for (const simdjson::dom::element token : list) {
    if (std::int64_t id = 0; token["id"].get(id) == simdjson::SUCCESS) largest = std::max(largest, id);
  }
  return largest;
}

void check_vocabulary(const LoadedModel& loaded, const std::string& directory) {
  const std::int64_t size = loaded.checkpoint->tokenizer == nullptr ? 0 : loaded.checkpoint->tokenizer->vocab_size();
  const auto check = [&](const std::string& name, std::int64_t (*largest)(simdjson::dom::object)) {
    const std::string file = directory + "/" + name;
    const auto content = checkpoint::read_optional_file(Env::system(), file, kMaxTokenizerBytes);
    if (!content || size == 0) return;
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    if (text::parse_json(parser, *content, file, kMaxTokenizerBytes).get(object) != simdjson::SUCCESS) {
      throw_load_error(ErrorCode::kBadFile, name, "{}: is no JSON object", file);
    }
    const std::int64_t id = largest(object);
    if (id < size) return;
    throw_load_error(ErrorCode::kUnsupported, name,
                     "{}: has a token {}: the model's vocabulary has {}, and adapters with tokens of their own are not "
                     "supported",
                     file, id, size);
  };
  check("tokenizer.json", largest_token);
  check("added_tokens.json", largest_value);
}

std::string_view without_end(std::string_view source) {
  const std::size_t last = source.find_last_not_of(" \n\r\t");
  return source.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool has_all(const chat::ChatTemplateSet& model, const chat::ChatTemplateSet& adapter) {
  return std::ranges::all_of(adapter.sources, [&](const auto& one) {
    const auto found = model.sources.find(one.first);
    return found != model.sources.end() && without_end(found->second) == without_end(one.second);
  });
}

}  // namespace

std::shared_ptr<const chat::ChatFormat> adapter_chat_format(const LoadedModel& loaded, const std::string& path) {
  const std::string directory = model::adapter_directory(Env::system(), path);
  if (directory.empty()) return nullptr;
  check_vocabulary(loaded, directory);
  if (loaded.checkpoint->tokenizer == nullptr) return nullptr;
  const std::string file = directory + "/tokenizer_config.json";
  const auto config = checkpoint::read_optional_file(Env::system(), file, kMaxConfigBytes);
  const auto templates = checkpoint::read_chat_templates(Env::system(), directory, config.value_or(""));
  if (has_all(loaded.checkpoint->chat_templates, templates)) return nullptr;
  return load_chat_format(templates, *loaded.checkpoint->tokenizer);
}

}  // namespace millrace::runtime

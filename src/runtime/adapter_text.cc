#include "runtime/adapter_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "checkpoint/hf_model.h"
#include "checkpoint/json_fields.h"
#include "runtime/chat_prompt.h"

namespace millrace::runtime {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxTokenizerBytes = 256 << 20, kMaxConfigBytes = 64 << 20;

std::int64_t largest_id(const json& ids) {
  std::int64_t largest = -1;
  for (const json& id : ids) {
    if (id.is_number_integer()) largest = std::max(largest, id.get<std::int64_t>());
  }
  return largest;
}

// Of tokenizer.json.
std::int64_t largest_token(const json& tokenizer) {
  std::int64_t largest = -1;
  const json model = tokenizer.value("model", json::object());
  const json vocabulary = model.is_object() ? model.value("vocab", json()) : json();
  if (vocabulary.is_object()) largest = largest_id(vocabulary);
  if (vocabulary.is_array()) largest = std::ssize(vocabulary) - 1;
  for (const json& token : tokenizer.value("added_tokens", json::array())) {
    if (token.is_object()) largest = std::max(largest, largest_id(json::array({token.value("id", json())})));
  }
  return largest;
}

void check_vocabulary(const LoadedModel& loaded, const std::string& directory) {
  const std::int64_t size = loaded.checkpoint->tokenizer == nullptr ? 0 : loaded.checkpoint->tokenizer->vocab_size();
  const auto check = [&](const std::string& name, std::int64_t (*largest)(const json&)) {
    const std::string file = directory + "/" + name;
    const auto text = checkpoint::read_optional_file(Env::system(), file, kMaxTokenizerBytes);
    const std::int64_t id = text ? largest(checkpoint::parse_json_object(file, *text)) : -1;
    if (id < size || size == 0) return;
    throw_load_error(ErrorCode::kUnsupported, name,
                     "{}: has a token {}: the model's vocabulary has {}, and adapters with tokens of their own are not "
                     "supported",
                     file, id, size);
  };
  check("tokenizer.json", largest_token);
  check("added_tokens.json", largest_id);
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

std::shared_ptr<const chat::ChatFormat> adapter_chat_format(const LoadedModel& loaded, const std::string& directory) {
  check_vocabulary(loaded, directory);
  if (loaded.checkpoint->tokenizer == nullptr) return nullptr;
  const std::string file = directory + "/tokenizer_config.json";
  const auto config = checkpoint::read_optional_file(Env::system(), file, kMaxConfigBytes);
  const auto templates = checkpoint::read_chat_templates(Env::system(), directory, config.value_or(""));
  if (has_all(loaded.checkpoint->chat_templates, templates)) return nullptr;
  return load_chat_format(templates, *loaded.checkpoint->tokenizer);
}

}  // namespace millrace::runtime

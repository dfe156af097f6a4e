#include "loadtest/watch/served_model.h"

#include <algorithm>
#include <map>

#include "loadtest/client/answer_event.h"
#include "loadtest/foreign_json.h"

namespace millrace::loadtest {
namespace {

using Json = nlohmann::json;

std::int64_t number(const Json& object, const char* name) {
  const auto it = object.is_object() ? object.find(name) : object.end();
  return it != object.end() && it->is_number_integer() ? std::max<std::int64_t>(0, it->get<std::int64_t>()) : 0;
}

std::int64_t vocabulary_of_tokenizer(Getter& getter) {
  const auto text = getter.get("/tokenizer_info");
  return text ? number(parse_foreign_json(*text), "vocab_size") : 0;
}

// The server by the owner that it names for its models.
std::string server_of(const Json& card) {
  static const std::map<std::string, std::string> kServers = {{"millrace", "millrace"},
                                                              {"vllm", "vllm"},
                                                              {"sglang", "sglang"},
                                                              {"llamacpp", "llama.cpp"},
                                                              {"library", "ollama"}};
  const auto owner = card.find("owned_by");
  const auto found =
      owner != card.end() && owner->is_string() ? kServers.find(owner->get<std::string>()) : kServers.end();
  return found != kServers.end() ? found->second : "";
}

std::string version_of(Getter& getter) {
  const auto text = getter.get("/version");
  const Json json = text ? parse_foreign_json(*text) : Json();
  return json.is_object() && json.contains("version") && json["version"].is_string()
             ? one_line(json["version"].get<std::string>(), 64)
             : "";
}

}  // namespace

Result<ServedModel> read_served_model(Getter& getter, std::string_view wanted) {
  const auto text = getter.get("/v1/models");
  if (!text) return text.error();
  const Json json = parse_foreign_json(*text);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_array()) {
    return make_error(ErrorCode::kNotFound, "url", "/v1/models: no list of models came");
  }
  std::string names;
  for (const Json& card : json["data"]) {
    if (!card.is_object() || !card.contains("id") || !card["id"].is_string()) continue;
    const auto id = card["id"].get<std::string>();
    names += (names.empty() ? "" : ", ") + id;
    if (!wanted.empty() && id != wanted) continue;
    const Json meta = card.value("meta", Json::object());
    ServedModel model{.id = id,
                      .vocabulary = number(meta, "n_vocab"),
                      .parameters = number(meta, "n_params"),
                      .weight_bytes = number(meta, "size"),
                      .kv_bytes_per_token = number(meta, "kv_bytes_per_token"),
                      .max_length = number(card, "max_model_len"),
                      .server = server_of(card),
                      .version = version_of(getter)};
    if (model.vocabulary == 0) model.vocabulary = vocabulary_of_tokenizer(getter);
    return model;
  }
  return make_error(ErrorCode::kNotFound, "model", "model: '{}' is none of those served: {}", wanted, names);
}

}  // namespace millrace::loadtest

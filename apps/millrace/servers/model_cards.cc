#include "servers/model_cards.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "printable.h"

namespace millrace::app {
namespace {

using nlohmann::json;

// Servers take a path as it is sent.
bool can_be_in_path(const std::string& name) {
  return std::ranges::all_of(name, [](char c) { return c > ' ' && c < 0x7f && c != '?' && c != '#'; });
}

}  // namespace

std::string text_of(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<json> data_of(const Result<json>& list) {
  std::vector<json> out;
  if (!list || !list->is_object() || !list->contains("data") || !(*list)["data"].is_array()) return out;
  for (const json& one : (*list)["data"]) {
    if (one.is_object()) out.push_back(one);
  }
  return out;
}

Result<json> model_card(ServerLink& link, const std::string& model) {
  const auto list = link.get("/v1/models");
  if (!list) return list.error();
  std::vector<std::string> names;
  for (const json& card : data_of(list)) {
    const std::string id = text_of(card, "id");
    if (id.empty()) continue;
    if (model.empty() || id == model) return card;
    names.push_back(printable(id));
  }
  if (names.empty()) {
    return make_error(ErrorCode::kNotFound, "url", "{}: GET /v1/models lists no models", link.name());
  }
  if (can_be_in_path(model)) {  // aliases are not listed
    auto card = link.get("/v1/models/" + model);
    if (card && card->is_object() && !text_of(*card, "id").empty()) return card;
  }
  return make_error(ErrorCode::kNotFound, "model", "{} has no model {}: it has {}", link.name(), printable(model),
                    fmt::join(names, ", "));
}

}  // namespace millrace::app

#include "chat/jinja/json_value.h"

#include <nlohmann/json.hpp>

#include "chat/chat_role.h"
#include "chat/jinja/unicode.h"

namespace millrace::chat::jinja {
namespace {

using Json = nlohmann::ordered_json;

template <typename ConvertItem>
Value convert_object(Runtime& runtime, const Json& json, ConvertItem convert_item) {
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, item] : json.items()) {
    dict->insert(runtime.budget, Text(replace_invalid_utf8(key), false), convert_item(key, item));
  }
  return make_dict(std::move(dict));
}

Value convert(Runtime& runtime, const Json& json, int depth) {
  runtime.budget.check_depth(depth);
  switch (json.type()) {
    case Json::value_t::null: return None{};
    case Json::value_t::boolean: return json.get<bool>();
    case Json::value_t::number_integer: return json.get<std::int64_t>();
    case Json::value_t::number_unsigned: return static_cast<Integer>(json.get<std::uint64_t>());
    case Json::value_t::number_float: return json.get<double>();
    case Json::value_t::string: return Text(replace_invalid_utf8(json.get_ref<const std::string&>()), false);
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) items.push_back(convert(runtime, item, depth + 1));
      return make_list(runtime.budget, std::move(items));
    }
    case Json::value_t::object: {
      return convert_object(runtime, json,
                            [&](std::string_view, const Json& item) { return convert(runtime, item, depth + 1); });
    }
    default: fail("the variables hold something that is not JSON");
  }
}

}  // namespace

Value from_json(Runtime& runtime, const Json& json) { return convert(runtime, json, 1); }

Value messages_from_json(Runtime& runtime, const Json& json) {
  if (!json.is_array()) return from_json(runtime, json);
  const auto message_item = [&](std::string_view key, const Json& item) -> Value {
    const auto* role = key == "role" ? item.get_ptr<const Json::string_t*>() : nullptr;
    if (role && is_chat_role(*role)) return Text(*role, true);
    return convert(runtime, item, 3);
  };
  std::vector<Value> messages;
  messages.reserve(json.size());
  for (const Json& message : json) {
    messages.push_back(message.is_object() ? convert_object(runtime, message, message_item)
                                           : convert(runtime, message, 2));
  }
  return make_list(runtime.budget, std::move(messages));
}

}  // namespace millrace::chat::jinja

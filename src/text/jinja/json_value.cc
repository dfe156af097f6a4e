#include "text/jinja/json_value.h"

#include <nlohmann/json.hpp>

#include "text/jinja/unicode.h"

namespace millrace::text::jinja {
namespace {

using Json = nlohmann::ordered_json;

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
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, item] : json.items()) {
        dict->insert(runtime.budget, Text(replace_invalid_utf8(key), false), convert(runtime, item, depth + 1));
      }
      return make_dict(std::move(dict));
    }
    default: fail("the variables hold something that is not JSON");
  }
}

}  // namespace

Value from_json(Runtime& runtime, const Json& json) { return convert(runtime, json, 1); }

}  // namespace millrace::text::jinja

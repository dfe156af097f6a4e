#include <cmath>

#include "server/generation_fields.h"
#include "server/limits.h"

namespace millrace::server {

namespace {

// {"name": "x", "scale": 0.5}
Result<GenerationFields::Lora> read_lora(const Json& value) {
  const auto wrong = [] {
    return GenerationSchema::wrong_type("lora", "a list of objects with a name and, if it is not 1, a scale");
  };
  if (!value.is_object()) return wrong();
  GenerationFields::Lora lora;
  for (const auto& [key, member] : value.items()) {
    if (key == "name" && member.is_string()) {
      lora.name = member.get<std::string>();
    } else if (key == "scale" && member.is_number()) {
      const auto scale = member.get<double>();
      if (!(std::abs(scale) <= kMaxLoraScale)) {
        return make_error(ErrorCode::kInvalidArgument, "lora", "a scale in lora is {}: expected -{} to {}", scale,
                          kMaxLoraScale, kMaxLoraScale);
      }
      lora.scale = static_cast<float>(scale);
    } else if (key != "scale" || !member.is_null()) {
      return wrong();
    }
  }
  if (lora.name.empty() || characters(lora.name) > RequestLimits::kNameLength) return wrong();
  return lora;
}

}  // namespace

void add_adapter_fields(GenerationSchema& schema) {
  const Json name = {{"type", "string"}, {"minLength", 1}, {"maxLength", RequestLimits::kNameLength}};
  const Json scale = {{"type", {"number", "null"}}, {"minimum", -kMaxLoraScale}, {"maximum", kMaxLoraScale}};
  const Json one = {{"type", "object"},
                    {"properties", {{"name", name}, {"scale", scale}}},
                    {"required", {"name"}},
                    {"additionalProperties", false}};
  schema.field("lora", "LoRA adapters that are added to the model's weights: their names, and scales of what they add",
               {{"type", {"array", "null"}}, {"items", one}, {"maxItems", engine::kMaxAdapters}},
               [](GenerationFields& f, const Json& value) -> Result<void> {
                 if (!value.is_array()) return GenerationSchema::wrong_type("lora", "a list of adapters");
                 if (value.size() > engine::kMaxAdapters) {
                   return make_error(ErrorCode::kInvalidArgument, "lora", "lora names {} adapters: the limit is {}",
                                     value.size(), engine::kMaxAdapters);
                 }
                 for (const Json& adapter : value) {
                   auto read = read_lora(adapter);
                   if (!read) return read.error();
                   f.lora.push_back(*std::move(read));
                 }
                 return {};
               });
}

}  // namespace millrace::server

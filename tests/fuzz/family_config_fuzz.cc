// Any configuration of any family, mutated from those of the golden files: a spec whose dimensions are in range, or a
// one-line refusal. An object with general.architecture is the metadata of a GGUF file, any other is a config.json.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/error.h"
#include "checkpoint/json_fields.h"
#include "model/block.h"
#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"
#include "model/computation_key.h"
#include "model/make_spec.h"

namespace {

using namespace millrace;
using checkpoint::GgufArray;

template <typename T>
GgufArray array_of(const nlohmann::json& list) {
  std::vector<T> values;
  for (const nlohmann::json& element : list) {
    if constexpr (std::is_same_v<T, bool>) {
      values.push_back(element.is_boolean() && element.get<bool>());
    } else {
      values.push_back(element.is_number() ? element.get<T>() : T{0});
    }
  }
  return {values};
}

checkpoint::GgufValue value_of(const nlohmann::json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return static_cast<std::uint32_t>(value.get<std::int64_t>());
  if (value.is_number()) return value.get<float>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() || value.empty()) return GgufArray{std::vector<std::int32_t>{}};
  if (value.front().is_boolean()) return array_of<bool>(value);
  return value.front().is_number_float() ? array_of<float>(value) : array_of<std::int32_t>(value);
}

checkpoint::ConfigFile read(std::string_view text) {
  const nlohmann::json json = checkpoint::parse_json_object("config", text);
  if (!json.contains("general.architecture")) return checkpoint::read_config_json("config.json", text);
  checkpoint::GgufMetadata metadata("m.gguf");
  for (const auto& [key, value] : json.items()) metadata.add(key, value_of(value));
  return checkpoint::read_config_metadata(metadata);
}

void check(const model::ModelSpec& spec) {
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  require(spec.hidden_size > 0 && spec.vocab_size > 0 && spec.context_length > 0 && !spec.layers.empty());
  require(std::isfinite(spec.embedding_scale) && std::isfinite(spec.logit_scale));
  static_cast<void>(model::computation_key(spec));
  for (const model::LayerSpec& layer : spec.layers) {
    for (model::BlockSpec block : layer.blocks) {
      const auto* a = block.find<model::AttentionParams>();
      require(a == nullptr || (a->heads > 0 && a->kv_heads > 0 && a->heads % a->kv_heads == 0 && a->window >= 0));
      require(a == nullptr || (a->rope < static_cast<int>(spec.ropes.size()) && !std::isnan(a->scale)));
      const auto* m = block.find<model::MlpParams>();
      require(m == nullptr || m->width > 0);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    checkpoint::Checkpoint checkpoint;
    checkpoint.path = "m";
    checkpoint.config = read({reinterpret_cast<const char*>(data), size});
    checkpoint.container = checkpoint.config.gguf ? checkpoint::Checkpoint::Container::kGguf
                                                  : checkpoint::Checkpoint::Container::kSafetensors;
    const auto spec = model::make_spec(checkpoint, {.max_key_dim = 576, .max_value_dim = 512});
    if (spec) {
      check(*spec);
    } else if (spec.error().message.find('\n') != std::string::npos) {
      std::abort();
    }
  } catch (const LoadError& e) {
    if (e.error().message.find('\n') != std::string::npos) std::abort();
  }
  return 0;
}

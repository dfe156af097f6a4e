#pragma once

// For tests: adapters of random numbers.

#include <fmt/format.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "draft/speculators/testing/made_speculators.h"
#include "model/adapters/load_adapter.h"

namespace millrace::engine {

// An adapter of every projection that the checkpoint has a tensor of, large enough to change most tokens; activated by
// the invocation, if there is one.
inline std::shared_ptr<const model::Adapter> made_adapter(const checkpoint::Checkpoint& checkpoint,
                                                          const model::Transformer& model, backend::Backend& backend,
                                                          unsigned seed, std::int64_t rank = 4,
                                                          const std::vector<std::int32_t>& invocation = {}) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, 0.3f);
  draft::MadeFiles files;
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t cols) {
    std::vector<float> values(static_cast<std::size_t>(rows * cols));
    for (float& value : values) value = normal(random);
    files.add("base_model.model." + name, Shape{rows, cols}, std::move(values));
  };
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) {
    constexpr std::string_view kEnd = "_proj.weight";
    const bool of_layers = tensor.name.starts_with("model.layers.") && tensor.name.ends_with(kEnd);
    if (!of_layers || tensor.name.find("experts") != std::string::npos) continue;
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    add(module + ".lora_A.weight", rank, tensor.shape[1]);
    add(module + ".lora_B.weight", tensor.shape[0], rank);
  }
  const std::string config =
      fmt::format(R"({{"peft_type": "LORA", "r": {0}, "lora_alpha": {0}, "alora_invocation_tokens": [{1}]}})", rank,
                  fmt::join(invocation, ", "));
  const std::filesystem::path directory =
      files.write(fmt::format("adapter_{}_{}_{}", seed, rank, invocation.size()), config, "adapter_model.safetensors");
  std::filesystem::rename(directory / "config.json", directory / "adapter_config.json");
  return model::AdapterLoader(checkpoint, model, backend).load(Env::system(), directory, {});
}

}  // namespace millrace::engine

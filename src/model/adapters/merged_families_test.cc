// Adapters merged into a model of each family: the logits of the same adapter beside the model, in every order of rows
// and columns that files have.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "backend/cpu/cpu_backend.h"
#include "base/memory_env.h"
#include "model/adapters/linear_modules.h"
#include "model/adapters/load_adapter.h"
#include "model/adapters/merged_checkpoint.h"
#include "model/adapters/peft_adapter.h"
#include "model/testing/golden_adapters.h"
#include "model/testing/runner.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> families_to_merge() {
  std::vector<fs::path> models;
  for (const auto& folder : fs::directory_iterator(kGoldens / "families")) {
    models.push_back(folder.path());
    if (fs::exists(folder.path() / "model.gguf")) models.push_back(folder.path() / "model.gguf");
  }
  std::ranges::sort(models);
  return models;
}

// GGUF files that say too little for adapters (docs/adapters.md).
bool takes_no_adapters(const fs::path& model) {
  static const std::set<std::string> kNone = {"cohere2_moe", "falcon_new", "glm4v", "granite_swa", "plamo3"};
  return model.extension() == ".gguf" && kNone.contains(model.parent_path().filename());
}

// Stored in several tensors.
bool takes_no_experts(const fs::path& model) { return model.filename() == "gpt_oss_mxfp4"; }

std::vector<float> random_values(std::int64_t n, std::uint32_t& state) {
  std::vector<float> all(static_cast<std::size_t>(n));
  for (float& value : all) {
    state = state * 1664525u + 1013904223u;
    value = (static_cast<float>(state >> 8) / 8388608.0f - 1.0f) * 0.1f;
  }
  return all;
}

// The linear layer of each expert.
std::vector<PeftModule> modules_of_experts(const checkpoint::Checkpoint& base, std::int64_t layers) {
  std::vector<PeftModule> modules;
  const ModelSpec spec = make_module_spec(base);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(layers); ++layer) {
    for (const BlockSpec& block : spec.layers[layer].blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, [](const std::string&) { return false; })) {
        for (std::int64_t e = 0; e < weight.experts; ++e) {
          const std::string name = WeightLoader::layer_name(weight.name, static_cast<std::int64_t>(layer));
          const std::string in_file = spec.names.in_file(name);
          modules.push_back({.name = WeightLoader::expert_name(name.ends_with(in_file) ? name : in_file, e),
                             .rows = weight.rows,
                             .cols = weight.cols});
        }
      }
    }
  }
  return modules;
}

// The folder "a" with a random adapter of every linear layer.
MemoryEnv random_adapter_files(const std::vector<LinearModule>& linears, std::vector<PeftModule> modules) {
  std::uint32_t state = 1;
  for (const LinearModule& one : linears) {
    modules.push_back({.name = one.name, .rows = one.rows, .cols = one.cols});
  }
  for (PeftModule& module : modules) {
    module.rank = 2;
    module.a = random_values(2 * module.cols, state);
    module.b = random_values(2 * module.rows, state);
  }
  const PeftFiles files = peft_files({.rank = 2}, modules);
  MemoryEnv env;
  env.files = {{"a/adapter_config.json", files.config}, {"a/adapter_model.safetensors", files.weights}};
  return env;
}

class MergedFamily : public testing::TestWithParam<fs::path> {};

TEST_P(MergedFamily, ComputesWhatTheAdapterBesideItDoes) {
  if (takes_no_adapters(GetParam())) return;
  const TestRunner::Options exact{.precision = backend::MatmulPrecision::kF32};
  TestRunner beside(GetParam(), exact), plain(GetParam(), exact);
  MemoryEnv env = random_adapter_files(
      linear_modules(beside.checkpoint(), beside.transformer().spec()),
      takes_no_experts(GetParam()) ? std::vector<PeftModule>()
                                   : modules_of_experts(beside.checkpoint(), beside.transformer().layers().size()));
  const auto loaded = AdapterLoader(beside.checkpoint(), beside.transformer(), beside.backend())
                          .load(env, "a", {.type = AdapterType::kF32});
  beside.set_adapter(loaded.get());
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const ScaledAdapter adapter{"a"};
  const TensorFormats f32 = [](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() <= 3 ? quant::find_format("f32") : nullptr;
  };
  static_cast<void>(merge_adapters(env, *checkpoint, backend::cpu::make_cpu_backend({.threads = 1}).or_throw(),
                                   {&adapter, 1}, {.formats = f32}));
  TestRunner merged(std::move(checkpoint), exact);
  const std::vector<std::int32_t> tokens = {3, 9, 27, 30, 5, 11};
  const std::vector<float> expected = beside.run_whole(tokens);
  EXPECT_LE(largest_error(merged.run_whole(tokens), expected), 1e-4);
  EXPECT_GE(largest_error(plain.run_whole(tokens), expected), 1e-3) << "the adapter changes something";
}

std::string merged_family_name(const testing::TestParamInfo<fs::path>& tested) {
  const bool gguf = tested.param.extension() == ".gguf";
  return gguf ? tested.param.parent_path().filename().string() + "_gguf" : tested.param.filename().string();
}
INSTANTIATE_TEST_SUITE_P(Families, MergedFamily, testing::ValuesIn(families_to_merge()), merged_family_name);

}  // namespace
}  // namespace millrace::model

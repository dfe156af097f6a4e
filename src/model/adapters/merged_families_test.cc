// Adapters merged into a model of each family: the logits of the same adapter beside the model, in every order of rows
// and columns that files have.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "base/memory_env.h"
#include "model/adapters/linear_modules.h"
#include "model/testing/merged_models.h"

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

class MergedFamily : public testing::TestWithParam<fs::path> {};

TEST_P(MergedFamily, ComputesWhatTheAdapterBesideItDoes) {
  if (takes_no_adapters(GetParam())) return;
  const TestRunner::Options exact{.precision = backend::MatmulPrecision::kF32};
  TestRunner beside(GetParam(), exact), plain(GetParam(), exact);
  MemoryEnv env = random_adapter_files(
      linear_modules(beside.checkpoint(), beside.transformer().spec()),
      takes_no_experts(GetParam()) ? std::vector<PeftModule>()
                                   : modules_of_experts(beside.checkpoint(), beside.transformer().layers().size()));
  auto checkpoint = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  expect_merged_as_beside(env, std::move(checkpoint), 3, beside, plain);
}

std::string merged_family_name(const testing::TestParamInfo<fs::path>& tested) {
  const bool gguf = tested.param.extension() == ".gguf";
  return gguf ? tested.param.parent_path().filename().string() + "_gguf" : tested.param.filename().string();
}
INSTANTIATE_TEST_SUITE_P(Families, MergedFamily, testing::ValuesIn(families_to_merge()), merged_family_name);

}  // namespace
}  // namespace millrace::model

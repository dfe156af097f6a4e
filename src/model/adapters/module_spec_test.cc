// What adapters call the weights of a GGUF file is what the same model in safetensors calls them: names, parts of fused
// tensors, and the order of rows.

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "checkpoint/checkpoint.h"
#include "model/adapters/adapter_spec.h"
#include "model/block.h"
#include "model/make_spec.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

// Everything that decides which rows of which tensor a matrix is made of.
std::string text_of(const BlockWeight& w) {
  return fmt::format("{} {} {}x{} slice {} {} {} {} rotated {} {} rows {} {} columns {} {} experts {} {}", w.role,
                     w.tensor(), w.rows, w.cols, w.slice.first, w.slice.run, w.slice.stride, w.slice.of, w.rotated_head,
                     w.rotated, w.row_turns.size, w.row_turns.groups, w.column_turns.size, w.column_turns.groups,
                     w.experts, w.inputs_first);
}

std::vector<std::string> matrices_of(const ModelSpec& spec, const WeightLoader& files) {
  std::vector<std::string> all = {spec.names.head, spec.names.embedding};
  for (std::size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const HasTensor has = [&](const std::string& pattern) {
      const auto name = WeightLoader::layer_name(pattern, static_cast<std::int64_t>(layer));
      const std::string first = WeightLoader::expert_name(name, 0);
      return files.has(first + ".weight") || files.has(first);
    };
    for (const BlockSpec& block : spec.layers[layer].blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, has)) {
        if (weight.cols > 0) all.push_back(fmt::format("{} {}", layer, text_of(weight)));
      }
    }
  }
  return all;
}

std::vector<fs::path> twins() {
  std::vector<fs::path> folders;
  for (const auto& folder : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/families")) {
    if (fs::exists(folder.path() / "model.gguf")) folders.push_back(folder.path());
  }
  std::ranges::sort(folders);
  return folders;
}

// Of these a GGUF file says too little.
const std::set<std::string> kRefused = {"cohere2_moe", "falcon_new", "glm4v", "granite_swa", "plamo3"};
// Some names or sizes are others: adapters of these modules are refused as tensors that the model does not have.
const std::set<std::string> kOtherNames = {"chatglm", "deci", "granite_hybrid", "granitemoeshared", "mimo_v2"};

class ModuleSpec : public testing::TestWithParam<fs::path> {};

TEST_P(ModuleSpec, OfAGgufFileIsThatOfItsTwin) {
  const auto safetensors = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const auto gguf = checkpoint::open_checkpoint(Env::system(), GetParam() / "model.gguf").or_throw();
  const ModelSpec theirs = make_spec(*safetensors).or_throw();
  const std::string name = GetParam().filename();
  if (kRefused.contains(name)) {
    EXPECT_THROW(static_cast<void>(make_module_spec(*gguf)), LoadError);
    return;
  }
  ModelSpec ours = make_module_spec(*gguf);
  ASSERT_GE(ours.layers.size(), theirs.layers.size());
  ours.layers.resize(theirs.layers.size());  // of layers that draft, GGUF files have more
  const WeightLoader files(*safetensors, theirs);
  const std::vector<std::string> found = matrices_of(ours, files), expected = matrices_of(theirs, files);
  if (kOtherNames.contains(name)) {
    EXPECT_NE(found, expected) << "no longer an exception";
  } else {
    EXPECT_EQ(found, expected);
  }
}

// The same for adapters in GGUF: on safetensors they mean what they mean on the GGUF file. Refused are those of
// families whose two kinds of files differ in more than names, or that GGUF calls by another's name.
const std::set<std::string> kRefusedOfGguf = {"apertus",    "chatglm",     "deci",          "falcon",    "falcon_new",
                                              "glm4",       "glm4v",       "hy_v3",         "internlm3", "kormo",
                                              "mimo_v2",    "mistral3",    "mistral_nemo",  "mixtral",   "refact",
                                              "solar_open", "granite_swa", "granite_hybrid"};
// Of these, GGUF files have modules more, or less.
const std::set<std::string> kOtherModulesOfGguf = {"glm4_moe", "granitemoeshared", "hunyuan_v1_moe"};

TEST_P(ModuleSpec, OfSafetensorsForGgufAdaptersIsThatOfItsTwin) {
  const auto safetensors = checkpoint::open_checkpoint(Env::system(), GetParam()).or_throw();
  const auto gguf = checkpoint::open_checkpoint(Env::system(), GetParam() / "model.gguf").or_throw();
  const AdapterFiles adapter{.path = "adapter.gguf", .gguf_architecture = gguf->config.architecture};
  const std::string name = GetParam().filename();
  if (kRefusedOfGguf.contains(name)) {
    EXPECT_THROW(static_cast<void>(adapter_spec(*safetensors, adapter)), LoadError);
    return;
  }
  ModelSpec ours = adapter_spec(*safetensors, adapter);
  const ModelSpec theirs = make_spec(*gguf).or_throw();
  ours.layers.resize(theirs.layers.size());
  const WeightLoader files(*gguf, theirs);
  const std::vector<std::string> found = matrices_of(ours, files), expected = matrices_of(theirs, files);
  if (kOtherModulesOfGguf.contains(name)) {
    EXPECT_NE(found, expected) << "no longer an exception";
  } else {
    EXPECT_EQ(found, expected);
  }
}

std::string twin_name(const testing::TestParamInfo<fs::path>& tested) { return tested.param.filename().string(); }
INSTANTIATE_TEST_SUITE_P(Families, ModuleSpec, testing::ValuesIn(twins()), twin_name);

}  // namespace
}  // namespace millrace::model

#include "checkpoint/weight_files.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "checkpoint/testing/tiny_directory.h"
#include "checkpoint/testing/tiny_torch_file.h"

namespace millrace::checkpoint {
namespace {

// A torch file of these tensors, two zeros each.
std::string tiny_torch(const std::vector<std::string>& names) {
  TinyTorchFile file;
  file.tensors.clear();
  file.zip.entries.resize(2);
  for (const std::string& name : names) {
    file.tensors.push_back({.name = name, .shape = {2}, .strides = {1}, .key = name, .elements = 2});
    file.add_storage(name, std::string(8, '\0'));
  }
  return file.bytes();
}

// The container and the names of what was opened, or the error.
std::string opened(MemoryEnv& env, std::string_view own_stem = {}) {
  Checkpoint checkpoint;
  try {
    open_weights(env, "d", checkpoint, nullptr, own_stem);
  } catch (const LoadError& e) {
    return e.what();
  }
  std::string found(to_string(checkpoint.container));
  for (const RawTensor& tensor : checkpoint.tensors) {
    found += " " + tensor.name + "@" + checkpoint.files[static_cast<std::size_t>(tensor.file)]->path();
  }
  return found;
}

const std::string kNothing =
    "d: neither model.safetensors nor model.safetensors.index.json nor pytorch_model.bin nor "
    "pytorch_model.bin.index.json is there";

TEST(WeightFiles, SafetensorsComeBeforeFilesOfTorch) {
  MemoryEnv env;
  EXPECT_EQ(opened(env), kNothing);
  env.files["d/2.bin"] = tiny_torch({"y", "z"});
  env.files["d/1.bin"] = tiny_torch({"x"});
  env.files["d/pytorch_model.bin.index.json"] = R"({"weight_map": {"x": "1.bin", "y": "2.bin", "z": "2.bin"}})";
  EXPECT_EQ(opened(env), "torch x@d/1.bin y@d/2.bin z@d/2.bin");
  env.files["d/pytorch_model.bin"] = tiny_torch({"x"});
  EXPECT_EQ(opened(env), "torch x@d/pytorch_model.bin");
  env.files["d/1.safetensors"] = tiny_safetensors({"x"});
  env.files["d/model.safetensors.index.json"] = R"({"weight_map": {"x": "1.safetensors"}})";
  EXPECT_EQ(opened(env), "safetensors x@d/1.safetensors");
  env.files["d/model.safetensors"] = tiny_safetensors({"x"});
  EXPECT_EQ(opened(env), "safetensors x@d/model.safetensors");
}

TEST(WeightFiles, AnIndexOfTorchIsCheckedLikeOneOfSafetensors) {
  MemoryEnv env;
  env.files["d/1.bin"] = tiny_torch({"x"});
  env.files["d/pytorch_model.bin.index.json"] = R"({"weight_map": {"x": "1.bin", "y": "1.bin"}})";
  EXPECT_EQ(opened(env), "d/pytorch_model.bin.index.json: tensor 'y' is not in '1.bin'");
  env.files["d/2.bin"] = tiny_torch({"x", "y"});
  env.files["d/pytorch_model.bin.index.json"] = R"({"weight_map": {"x": "1.bin", "y": "2.bin"}})";
  EXPECT_EQ(opened(env), "d/2.bin: tensor 'x': stored in another shard too");
  env.files["d/pytorch_model.bin.index.json"] = R"({"weight_map": {"x": "../e/1.bin"}})";
  EXPECT_EQ(
      opened(env),
      "d/pytorch_model.bin.index.json: tensor 'x': a file name in the same directory expected, found '../e/1.bin'");
}

// An own name comes before the common ones of the same container, and every name of safetensors before one of torch.
TEST(WeightFiles, HeadsMayHaveANameOfTheirOwn) {
  MemoryEnv env;
  env.files["d/pytorch_model.bin"] = tiny_torch({"x"});
  env.files["d/medusa_lm_head.pt"] = tiny_torch({"0.1.weight"});
  EXPECT_EQ(opened(env), "torch x@d/pytorch_model.bin");
  EXPECT_EQ(opened(env, kMedusaStem), "torch 0.1.weight@d/medusa_lm_head.pt");
  env.files["d/model.safetensors"] = tiny_safetensors({"x"});
  EXPECT_EQ(opened(env, kMedusaStem), "safetensors x@d/model.safetensors");
  env.files["d/medusa_lm_head.safetensors"] = tiny_safetensors({"y"});
  EXPECT_EQ(opened(env, kMedusaStem), "safetensors y@d/medusa_lm_head.safetensors");
}

// The next best file is no answer to one that is damaged.
TEST(WeightFiles, AreNotPassedOverWhenDamaged) {
  MemoryEnv env;
  env.files["d/pytorch_model.bin"] = tiny_torch({"x"});
  env.files["d/model.safetensors"] = "x";
  EXPECT_NE(opened(env).find("d/model.safetensors: header length"), std::string::npos);
}

}  // namespace
}  // namespace millrace::checkpoint

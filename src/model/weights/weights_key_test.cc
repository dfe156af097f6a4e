// Files of packed weights are named after the key: what changes a matrix changes it.

#include "model/weights/weights_key.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "base/memory_env.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

namespace fs = std::filesystem;

// A golden checkpoint in memory, where files have no time of change.
struct KeyedCheckpoint {
  MemoryEnv env;

  explicit KeyedCheckpoint(const std::string& golden) {
    for (const auto& file : fs::directory_iterator(fs::path(MILLRACE_TEST_DATA) / "../golden/quantized" / golden)) {
      env.files["d/" + file.path().filename().string()] = read_file(Env::system(), file.path(), 1 << 20).or_throw();
    }
  }
  std::unique_ptr<checkpoint::Checkpoint> open() { return checkpoint::open_checkpoint(env, "d").or_throw(); }
  std::uint64_t key() { return weights_key(*open()); }
  // Changes the middle byte of a tensor.
  void touch(const std::string& tensor) {
    std::string& file = env.files["d/model.safetensors"];
    std::uint64_t header = 0;
    std::memcpy(&header, file.data(), sizeof header);
    const auto at = nlohmann::json::parse(file.substr(8, header)).at(tensor).at("data_offsets");
    file[8 + header + (at[0].get<std::size_t>() + at[1].get<std::size_t>()) / 2] ^= 1;
  }
};

TEST(WeightsKey, CoversEveryTensorOfEveryMatrix) {
  for (const char* golden : {"awq_gemm_g32", "ct_pack4_order", "ct_nvfp4", "bnb_nf4_nested", "mlx_4bit"}) {
    KeyedCheckpoint checkpoint(golden);
    std::set<std::uint64_t> keys = {checkpoint.key()};
    EXPECT_TRUE(keys.contains(checkpoint.key())) << golden;
    const auto opened = checkpoint.open();
    const CheckpointWeights weights(*opened);
    std::size_t tensors = 0;
    for (const MatrixInfo& matrix : weights.matrices()) {
      for (const checkpoint::RawTensor* tensor : matrix.tensors) {
        checkpoint.touch(tensor->name);  // one after the other, so that all keys differ
        EXPECT_TRUE(keys.insert(checkpoint.key()).second) << golden << " " << tensor->name;
        ++tensors;
      }
    }
    EXPECT_GT(tensors, weights.matrices().size());
  }
}

TEST(WeightsKey, CoversWhatTheConfigurationSays) {
  KeyedCheckpoint checkpoint("awq_gemm_g32");
  const std::uint64_t before = checkpoint.key();
  auto config = nlohmann::json::parse(checkpoint.env.files["d/config.json"]);
  config["quantization_config"]["group_size"] = 64;
  checkpoint.env.files["d/config.json"] = config.dump();
  EXPECT_NE(checkpoint.key(), before);
}

TEST(WeightsKey, CoversMethodAndVersionOfTheReader) {
  KeyedCheckpoint checkpoint("awq_gemm_g32");
  const auto opened = checkpoint.open();
  const WeightReaderKind* reader = find_reader(*opened);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(weights_key(*opened, reader), weights_key(*opened));
  WeightReaderKind raised = *reader, other = *reader;
  ++raised.version;
  other.method = "gptq";
  EXPECT_NE(weights_key(*opened, &raised), weights_key(*opened));
  EXPECT_NE(weights_key(*opened, &other), weights_key(*opened));
}

}  // namespace
}  // namespace millrace::model

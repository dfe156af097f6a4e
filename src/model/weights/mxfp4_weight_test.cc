// MXFP4 experts in safetensors: what they mean, and one thing broken at a time.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/memory_env.h"
#include "checkpoint/testing/tiny_directory.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kExperts = 3, kRowsOfExpert = 5, kBlocksOfRow = 4, kCols = 32 * kBlocksOfRow;
constexpr std::int64_t kStackedRows = kExperts * kRowsOfExpert;
constexpr const char* kDown = "model.layers.0.mlp.experts.down_proj";

constexpr MatrixShape kStack{.rows = kRowsOfExpert, .cols = kCols, .experts = kExperts};

// A checkpoint of one stack of experts beside a plain matrix.
struct Mxfp4Files {
  struct Tensor {
    std::string dtype = "U8";
    std::vector<std::int64_t> shape = {};
    std::string data = {};
  };
  std::map<std::string, Tensor> tensors;
  nlohmann::json quantization = {{"quant_method", "mxfp4"},
                                 {"modules_to_not_convert", {"model.layers.*.self_attn", "lm_head"}}};

  Mxfp4Files() {
    Tensor& codes = tensors[std::string(kDown) + "_blocks"];
    codes.shape = {kExperts, kRowsOfExpert, kBlocksOfRow, 16};
    for (int i = 0; i < kStackedRows * kBlocksOfRow * 16; ++i) codes.data += static_cast<char>(i * 151 + i / 251);
    Tensor& scales = tensors[std::string(kDown) + "_scales"];
    scales.shape = {kExperts, kRowsOfExpert, kBlocksOfRow};
    for (int i = 0; i < kStackedRows * kBlocksOfRow; ++i) scales.data += static_cast<char>(i * 37);
    tensors["plain.weight"] = {.dtype = "BF16", .shape = {2, 2}, .data = std::string(8, '\0')};
  }
  Tensor& blocks() { return tensors.at(std::string(kDown) + "_blocks"); }
  Tensor& scales() { return tensors.at(std::string(kDown) + "_scales"); }

  std::unique_ptr<checkpoint::Checkpoint> open() {
    nlohmann::json header, config = nlohmann::json::parse(checkpoint::kTinyConfig);
    std::string data;
    for (const auto& [name, tensor] : tensors) {
      header[name] = {{"dtype", tensor.dtype},
                      {"shape", tensor.shape},
                      {"data_offsets", {data.size(), data.size() + tensor.data.size()}}};
      data += tensor.data;
    }
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    config["quantization_config"] = quantization;
    env.files["d/config.json"] = config.dump();
    env.files["d/model.safetensors"] = std::string(reinterpret_cast<const char*>(&length), sizeof length) + text + data;
    return checkpoint::open_checkpoint(env, "d").or_throw();
  }
  // "read", or why not.
  std::string outcome(std::int64_t experts = kExperts, std::int64_t cols = kCols) {
    try {
      const auto checkpoint = open();
      const CheckpointWeights weights(*checkpoint);
      const auto weight = weights.open(kDown, {.rows = kRowsOfExpert, .cols = cols, .experts = experts});
      std::vector<std::byte> out(weight->format->row_bytes(cols) * static_cast<std::size_t>(kStackedRows));
      weight->read(0, kStackedRows, out);
      return "read";
    } catch (const LoadError& e) {
      return e.what();
    }
  }

 private:
  MemoryEnv env;
};

std::string where(const char* tensor, const std::string& what) {
  return std::string("d: tensor '") + kDown + tensor + "': " + what;
}

std::vector<std::byte> read_rows(const StoredWeight& weight, std::int64_t first, std::int64_t count) {
  std::vector<std::byte> out(weight.format->row_bytes(kCols) * static_cast<std::size_t>(count));
  weight.read(first, count, out);
  return out;
}

TEST(Mxfp4Weight, MeansWhatGptOssMeans) {
  constexpr float kE2m1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
  Mxfp4Files files;
  const auto checkpoint = files.open();
  const CheckpointWeights weights(*checkpoint);
  const auto weight = weights.open(kDown, kStack);
  ASSERT_EQ(weight->format->name, "mxfp4");
  EXPECT_TRUE(weight->columns.empty());
  std::vector<float> values(kStackedRows * kCols);
  weight->format->unpack(read_rows(*weight, 0, kStackedRows).data(), values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(files.blocks().data[i / 2]);
    const int code = i % 2 == 0 ? byte & 15 : byte >> 4;
    const int exponent = static_cast<std::uint8_t>(files.scales().data[i / 32]) - 127;
    const double value = std::ldexp(code < 8 ? kE2m1[code] : -kE2m1[code - 8], exponent);
    ASSERT_EQ(values[i], static_cast<float>(value)) << "value " << i;
  }
}

TEST(Mxfp4Weight, ReadsAnyRowsFromTheRangesItNames) {
  Mxfp4Files files;
  const auto checkpoint = files.open();
  const auto weight = CheckpointWeights(*checkpoint).open(std::string(kDown) + ".weight", kStack);
  const std::vector<std::byte> all = read_rows(*weight, 0, kStackedRows);
  const std::size_t row = weight->format->row_bytes(kCols);
  for (const auto& [first, count] : {std::pair(0, 1), std::pair(4, 3), std::pair(14, 1)}) {
    const std::vector<std::byte> part = read_rows(*weight, first, count);
    EXPECT_EQ(std::memcmp(part.data(), all.data() + static_cast<std::size_t>(first) * row, part.size()), 0) << first;
    const std::vector<TensorRange> ranges = weight->ranges(first, count);
    ASSERT_EQ(ranges.size(), 2u);
    EXPECT_EQ(ranges[0].tensor, weight->tensors[0]);
    EXPECT_EQ(ranges[0].offset, static_cast<std::uint64_t>(first * kCols / 2));
    EXPECT_EQ(ranges[0].bytes, static_cast<std::uint64_t>(count * kCols / 2));
    EXPECT_EQ(ranges[1].tensor, weight->tensors[1]);
    EXPECT_EQ(ranges[1].offset, static_cast<std::uint64_t>(first * kBlocksOfRow));
    EXPECT_EQ(ranges[1].bytes, static_cast<std::uint64_t>(count * kBlocksOfRow));
  }
}

TEST(Mxfp4Weight, IsListedBesidePlainMatrices) {
  Mxfp4Files files;
  const auto checkpoint = files.open();
  const CheckpointWeights weights(*checkpoint);
  for (const char* name : {"", ".weight"}) EXPECT_TRUE(weights.has(std::string(kDown) + name)) << name;
  EXPECT_FALSE(weights.has("model.layers.0.mlp.experts.up_proj"));
  ASSERT_EQ(weights.matrices().size(), 2u);
  const MatrixInfo& stack = weights.matrices()[0];
  EXPECT_EQ(stack.name, kDown);
  EXPECT_EQ(stack.format->name, "mxfp4");
  EXPECT_EQ(stack.rows, kStackedRows);
  EXPECT_EQ(stack.cols, kCols);
  EXPECT_EQ(stack.tensors.size(), 2u);
  EXPECT_EQ(weights.matrices()[1].name, "plain.weight");
}

TEST(Mxfp4Weight, NamesATensorThatIsMissingOrOfAnotherTypeOrShape) {
  EXPECT_EQ(Mxfp4Files().outcome(), "read");
  EXPECT_EQ(Mxfp4Files().outcome(2, kCols), where("_blocks", "[3, 5, 4, 16]: expected [2, 5, 4, 16]"));
  EXPECT_EQ(Mxfp4Files().outcome(kExperts, 160), where("_blocks", "[3, 5, 4, 16]: expected [3, 5, 5, 16]"));
  Mxfp4Files alone;
  alone.tensors.erase(std::string(kDown) + "_scales");
  EXPECT_EQ(alone.outcome(), where("_scales", "missing; expected uint8"));
  Mxfp4Files floats;
  floats.scales() = {.dtype = "BF16", .shape = {3, 5, 4}, .data = std::string(120, '\0')};
  EXPECT_EQ(floats.outcome(), where("_scales", "bf16: expected uint8"));
  Mxfp4Files words;
  words.blocks() = {.dtype = "I32", .shape = {3, 5, 4, 4}, .data = words.blocks().data};
  EXPECT_EQ(words.outcome(), where("_blocks", "[3, 5, 4, 4] of 960 bytes: expected uint8"));
  Mxfp4Files halves;
  halves.blocks() = {.dtype = "F16", .shape = {3, 5, 4, 8}, .data = halves.blocks().data};
  EXPECT_EQ(halves.outcome(), where("_blocks", "f16: expected uint8"));
  Mxfp4Files wide;
  wide.blocks().shape = {3, 5, 2, 32};
  EXPECT_EQ(wide.outcome(), where("_blocks", "[3, 5, 2, 32]: expected [experts, rows, columns / 32, 16]"));
  Mxfp4Files flat;
  flat.blocks().shape = {15, 4, 16};
  EXPECT_EQ(flat.outcome(), where("_blocks", "[15, 4, 16]: expected [experts, rows, columns / 32, 16]"));
  Mxfp4Files turned;
  turned.scales().shape = {3, 4, 5};
  EXPECT_EQ(turned.outcome(), where("_scales", "[3, 4, 5]: expected one for each block of [3, 5, 4, 16]"));
}

TEST(Mxfp4Weight, OtherMethodsAreRefusedByName) {
  Mxfp4Files other;
  other.quantization["quant_method"] = "hqq";
  EXPECT_NE(
      other.outcome().find("d/config.json: quantization_config: quantized safetensors of quant_method 'hqq' are not "
                           "supported (the layout of HQQ is not read), only of "),
      std::string::npos)
      << other.outcome();
}

}  // namespace
}  // namespace millrace::model

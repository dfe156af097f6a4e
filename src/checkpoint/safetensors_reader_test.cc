#include "checkpoint/safetensors_reader.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/memory_env.h"
#include "checkpoint/safetensors_writer.h"

namespace millrace::checkpoint {
namespace {

// A file with this JSON as its header and `data_bytes` zeros.
std::string file_of(const std::string& json, std::size_t data_bytes) {
  const std::uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + json + std::string(data_bytes, '\0');
}

std::string opened(const std::string& bytes) {
  MemoryEnv env;
  env.files["m.safetensors"] = bytes;
  try {
    const auto file = env.open("m.safetensors").or_throw();
    read_safetensors_header(*file);
    return "opened";
  } catch (const LoadError& e) {
    return e.what();
  }
}

std::string opened(const std::string& json, std::size_t data_bytes) { return opened(file_of(json, data_bytes)); }

const std::string kA = R"("a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})";

TEST(Safetensors, ReadsShapesAndOffsets) {
  MemoryEnv env;
  const std::string json =
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)" + kA + "}  ";
  env.files["m.safetensors"] = file_of(json, 32);
  const auto file = env.open("m.safetensors").or_throw();
  const auto tensors = read_safetensors_header(*file);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].shape, (Shape{2, 3}));
  EXPECT_EQ(tensors[0].offset, 8 + json.size());
  EXPECT_EQ(tensors[1].format->name, "bf16");
  EXPECT_EQ(tensors[1].bytes, 8u);
}

TEST(Safetensors, ReadsTheTextsOfItsMetadata) {
  MemoryEnv env;
  env.files["m.safetensors"] = file_of(R"({"__metadata__":{"format":"pt","a":"{\"_type\": 1}"},)" + kA + "}", 24);
  const auto file = env.open("m.safetensors").or_throw();
  const std::map<std::string, std::string> expected = {{"a", R"({"_type": 1})"}, {"format", "pt"}};
  EXPECT_EQ(read_safetensors_metadata(*file), expected);
  env.files["m.safetensors"] = file_of("{" + kA + "}", 24);
  EXPECT_TRUE(read_safetensors_metadata(*env.open("m.safetensors").or_throw()).empty());
}

TEST(Safetensors, DataMustTileTheFileExactly) {
  EXPECT_EQ(opened("{" + kA + "}", 24), "opened");
  EXPECT_EQ(opened("{" + kA + "}", 25), "m.safetensors: 24 bytes of data expected, found 25");
  EXPECT_EQ(opened("{" + kA + "}", 23),
            "m.safetensors: tensor 'a': 24 bytes at offset 0 do not lie inside the 23 bytes of data: truncated?");
  EXPECT_EQ(opened("{" + kA + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[20,24]}})", 24),
            "m.safetensors: tensor 'b': its data begin at 20, but the tensor before ends at 24 (an overlap)");
  EXPECT_EQ(opened("{" + kA + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[28,32]}})", 32),
            "m.safetensors: tensor 'b': its data begin at 28, but the tensor before ends at 24 (a hole)");
}

TEST(Safetensors, ShapeAndBytesMustAgree) {
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,24]}})", 24),
            "m.safetensors: tensor 'a': data_offsets [0, 24] do not span the 16 bytes of f32 [2, 2]");
  // 2^62 + 1 values of 4 bytes wrap around to 4 bytes.
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]}})", 4),
            "m.safetensors: tensor 'a': data_offsets [0, 4] do not span the 0 bytes of f32 [4611686018427387905]");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0),
            "m.safetensors: tensor 'a': the product of its dimensions overflows");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", 4),
            "m.safetensors: tensor 'a': data_offsets [4, 0] do not span the 4 bytes of f32 [1]");
}

TEST(Safetensors, FoldsDimensionsThatNoTextModelHas) {
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[2,1,3,2,2],"data_offsets":[0,0]}})", 0),
            "m.safetensors: tensor 'a': data_offsets [0, 0] do not span the 96 bytes of f32 [2, 1, 3, 4]");
}

TEST(Safetensors, RefusesOtherDtypesByName) {
  EXPECT_EQ(opened(R"({"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}})", 8),
            "m.safetensors: tensor 'a': dtype 'I64' is not supported");
}

TEST(Safetensors, KeepsIntegersApartFromWeightsWhereTheyAreAskedFor) {
  MemoryEnv env;
  env.files["m.safetensors"] = file_of(R"({"ids":{"dtype":"I64","shape":[2],"data_offsets":[24,40]},)" + kA + "}", 40);
  const auto file = env.open("m.safetensors").or_throw();
  std::vector<IntegerTensor> integers;
  EXPECT_EQ(read_safetensors_header(*file, &integers).size(), 1u);
  ASSERT_EQ(integers.size(), 1u);
  EXPECT_EQ(integers[0].tensor.name, "ids");
  EXPECT_EQ(integers[0].value_bytes, 8);
}

TEST(Safetensors, RefusesDuplicatesAndStrangeFields) {
  EXPECT_EQ(opened("{" + kA + "," + kA + "}", 24), "m.safetensors: tensor 'a': the name occurs twice");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","dtype":"F32","shape":[],"data_offsets":[0,4]}})", 4),
            "m.safetensors: tensor 'a': a field occurs twice");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[1]}})", 4),
            "m.safetensors: tensor 'a': the field 'data_offsets' must hold two numbers");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", 4),
            "m.safetensors: tensor 'a': field 'shape': found a negative number");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", 4),
            "m.safetensors: tensor 'a': field 'shape': found a number that is not an integer");
  EXPECT_EQ(opened(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", 4),
            "m.safetensors: tensor 'a': field 'shape': found an array");
  EXPECT_EQ(opened(R"({"a":3})", 4), "m.safetensors: tensor 'a': expected an object, found a number");
  EXPECT_EQ(opened("[]", 0), "m.safetensors: the header must be an object, found an array");
}

TEST(Safetensors, RefusesBadHeaders) {
  EXPECT_EQ(opened(R"({"a")", 0), "m.safetensors: the header is not valid JSON at byte 5");
  EXPECT_EQ(opened("{} x", 0).find("m.safetensors: the header is not valid JSON"), 0u);
  EXPECT_EQ(opened("abc"), "m.safetensors: header length: 8 items of 1 bytes or more expected, 3 bytes left");
  std::string file = file_of("{}", 0);
  file[7] = '\x7f';
  EXPECT_EQ(opened(file), "m.safetensors: a header of 9151314442816847874 bytes, at most 2 expected");
  EXPECT_EQ(opened(std::string(100000, '['), 0), "m.safetensors: the header must be an object, found an array");
}

TEST(Safetensors, WhatIsWrittenIsReadBack) {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "round_trip.safetensors").string();
  const std::vector<TensorSpec> tensors = {{"x.weight", quant::find_format("bf16"), Shape{3, 5}},
                                           {"y \"quoted\"", quant::find_format("f32"), Shape{2}},
                                           {"scalar", quant::find_format("f16"), Shape{}}};
  const std::vector<SafetensorsMetadata> metadata = {{"format", "pt"}};
  const auto source = [&](std::size_t t, const DataSink& sink) {
    return sink(std::vector<std::byte>(tensors[t].bytes(), static_cast<std::byte>(t + 1)));
  };
  const auto written = write_safetensors(path, metadata, tensors, source);
  ASSERT_TRUE(written) << written.error().message;
  const auto file = Env::system().open(path).or_throw();
  const auto found = read_safetensors_header(*file);
  ASSERT_EQ(found.size(), tensors.size());
  for (std::size_t t = 0; t < tensors.size(); ++t) {
    EXPECT_EQ(found[t].name, tensors[t].name);
    EXPECT_EQ(found[t].format, tensors[t].format);
    EXPECT_EQ(found[t].shape, tensors[t].shape);
    std::vector<std::byte> bytes(found[t].bytes);
    ASSERT_TRUE(file->read(found[t].offset, bytes));
    EXPECT_EQ(bytes, std::vector<std::byte>(tensors[t].bytes(), static_cast<std::byte>(t + 1)));
  }
  std::filesystem::remove(path);
  const std::vector<TensorSpec> twice = {tensors[0], tensors[0]};
  EXPECT_FALSE(safetensors_header_bytes({}, twice));
  const std::vector<TensorSpec> quantized = {{"q", quant::find_format("q4_0"), Shape{32}}};
  EXPECT_FALSE(safetensors_header_bytes({}, quantized));
}

}  // namespace
}  // namespace millrace::checkpoint

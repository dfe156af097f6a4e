// What a user is told of how weights are stored. tests/cli/test_inspect_quantized.py has the checkpoints of all
// methods.

#include "model/weights/weight_summary.h"

#include <gtest/gtest.h>

#include "checkpoint/gguf_file_type.h"
#include "model/weights/weight_maker.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;

Checkpoint with_config(const nlohmann::json& quantization) {
  Checkpoint checkpoint;
  checkpoint.config.json[std::string(checkpoint::kQuantizationField)] = quantization;
  return checkpoint;
}

TEST(WeightMaker, IsWhoTheConfigurationNames) {
  using Json = nlohmann::json;
  const auto maker = [](const Json& quantization) { return weight_maker(with_config(quantization)); };
  EXPECT_EQ(maker({{"meta", {{"quantizer", Json::array({"gptqmodel:7.7.0", "optimum:1.9"})}}}}), "gptqmodel 7.7.0");
  EXPECT_EQ(maker({{"meta", {{"quantizer", "gptqmodel:1.4.5"}}}}), "gptqmodel 1.4.5");
  EXPECT_EQ(maker({{"autoround_version", "0.4.3"}, {"quant_method", "awq"}, {"version", "gemm"}}), "auto-round 0.4.3");
  EXPECT_EQ(maker({{"quant_method", "compressed-tensors"}, {"version", "0.20.0"}}), "compressed-tensors 0.20.0");
  EXPECT_EQ(maker({{"producer", {{"name", "modelopt"}, {"version", "0.47.0"}}}}), "modelopt 0.47.0");
  EXPECT_EQ(maker({{"quant_method", "awq"}, {"version", "gemm"}}), "") << "a layout";
}

TEST(WeightMaker, IsUnknownWhereFieldsHaveOtherTypes) {
  for (const nlohmann::json& odd :
       {nlohmann::json({{"meta", 3}}), nlohmann::json({{"meta", {{"quantizer", nlohmann::json::array()}}}}),
        nlohmann::json({{"producer", {{"name", 1}}}}), nlohmann::json({{"autoround_version", {1, 2}}}),
        nlohmann::json({{"version", 1.5}, {"quant_method", "x"}})}) {
    EXPECT_EQ(weight_maker(with_config(odd)), "") << odd.dump();
  }
  EXPECT_EQ(weight_maker(Checkpoint()), "");
}

TEST(WeightMaker, IsCutBetweenCharacters) {
  const std::string maker =
      weight_maker(with_config({{"producer", {{"name", std::string(199, 'x') + "\u00e9\u00e9"}}}}));
  EXPECT_EQ(maker, std::string(199, 'x'));
}

TEST(WeightMaker, ReadsWhatQuantizersWriteIntoGguf) {
  Checkpoint checkpoint;
  checkpoint.config.gguf = true;
  checkpoint::GgufMetadata& metadata = checkpoint.config.metadata;
  EXPECT_EQ(weight_maker(checkpoint), "");
  EXPECT_EQ(weight_calibration(checkpoint), "");
  metadata.add("general.quantized_by", std::string("someone"));
  metadata.add("quantize.imatrix.file", std::string("/tmp/a.dat"));
  EXPECT_EQ(weight_maker(checkpoint), "someone");
  EXPECT_EQ(weight_calibration(checkpoint), "importance matrix of /tmp/a.dat");
  metadata.add("quantize.imatrix.dataset", std::string("wiki.txt"));
  metadata.add("quantize.imatrix.chunks_count", std::int32_t{125});
  EXPECT_EQ(weight_calibration(checkpoint), "importance matrix of 125 chunks of wiki.txt");
}

TEST(GgufFileType, HasTheNameOfKnownNumbers) {
  EXPECT_EQ(checkpoint::file_type_name(15), "Q4_K_M");
  EXPECT_EQ(checkpoint::file_type_name(32), "BF16");
  for (const std::int64_t unknown : {-1, 4, 33, 1024}) EXPECT_EQ(checkpoint::file_type_name(unknown), "") << unknown;
}

TEST(WeightSummary, SaysOnceWhatIsComputedAsF32) {
  WeightSummary summary;
  summary.parts = {{.stored = "4-bit, groups of 128", .quantized = true, .matrices = 10, .values = 1000},
                   {.stored = "4-bit, groups of 48",
                    .quantized = true,
                    .as_f32 = true,
                    .matrices = 2,
                    .values = 96,
                    .example = "'a.weight' [2, 48]"},
                   {.stored = "bf16", .matrices = 1, .values = 50}};
  EXPECT_EQ(summary.computed_as_f32(),
            "2 of 12 quantized matrices are computed as f32, slowly, as no kernel takes 4-bit, groups of 48 in so many "
            "columns: 'a.weight' [2, 48] "
            "and others");
  EXPECT_EQ(summary.format(), "4-bit, groups of 128 + 4-bit, groups of 48");
  summary.method = "GPTQ";
  EXPECT_EQ(summary.format(), "GPTQ: 4-bit, groups of 128 + 4-bit, groups of 48");
  summary.parts.resize(1);
  EXPECT_EQ(summary.computed_as_f32(), "");
}

}  // namespace
}  // namespace millrace::model

// Which entries of an importance matrix belong to which weights, in files of either kind of names.

#include "model/weight_importance.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "model/importance_check.h"
#include "model/load_quantization.h"
#include "model/make_spec.h"
#include "quant/searched_rounding.h"

namespace millrace::model {
namespace {

using checkpoint::ImportanceMatrix;

std::vector<float> rising(std::size_t n, float first = 1.0f) {
  std::vector<float> out(n);
  std::iota(out.begin(), out.end(), first);
  return out;
}

ImportanceMatrix with(std::map<std::string, std::vector<float>> means) {
  return {.path = "m", .means = std::move(means)};
}

const BlockWeight kQuery{.role = "attn_q", .name = "model.layers.{}.self_attn.q_proj", .rows = 4, .cols = 8};
const BlockWeight kGgufQuery{.role = "attn_q", .name = "blk.{}.attn_q", .rows = 4, .cols = 8};
constexpr const char* kQueryTensor = "model.layers.12.self_attn.q_proj.weight";

TEST(WeightImportance, IsFoundByLayerAndRoleWhateverTheFileCallsTheWeight) {
  const ImportanceMatrix matrix = with({{"blk.12.attn_q.weight", rising(8)}, {"blk.1.attn_q.weight", rising(8, 5)}});
  EXPECT_EQ(*importance_of(matrix, kQueryTensor, kQuery), rising(8));
  EXPECT_EQ(*importance_of(matrix, "blk.12.attn_q.weight", kGgufQuery), rising(8));
  EXPECT_EQ(*importance_of(matrix, "blk.1.attn_q.weight", kGgufQuery), rising(8, 5));
  EXPECT_EQ(importance_of(matrix, "blk.2.attn_q.weight", kGgufQuery), nullptr);
}

TEST(WeightImportance, WeightsOfTheSameInputShareAnEntry) {
  const ImportanceMatrix fused = with({{"blk.12.attn_qkv.weight", rising(8)}, {"blk.0.ffn_up.weight", rising(8, 3)}});
  EXPECT_EQ(*importance_of(fused, kQueryTensor, kQuery), rising(8));
  const BlockWeight gate{.role = "ffn_gate", .name = "layers.{}.gate", .rows = 4, .cols = 8};
  EXPECT_EQ(*importance_of(fused, "layers.0.gate.weight", gate), rising(8, 3));
  const BlockWeight output{.role = "attn_output", .name = "layers.{}.o", .rows = 4, .cols = 8};
  EXPECT_EQ(importance_of(fused, "layers.12.o.weight", output), nullptr) << "which reads another input";
}

TEST(WeightImportance, ColumnsAreInTheOrderOfTheLoadedWeight) {
  BlockWeight turned{.role = "attn_output", .name = "blk.{}.attn_output", .rows = 4, .cols = 8};
  turned.column_turns = {.size = 2, .groups = 2};
  turned.zero_cols = 1;
  const auto values =
      importance_of(with({{"blk.0.attn_output.weight", rising(8)}}), "blk.0.attn_output.weight", turned);
  EXPECT_EQ(*values, (std::vector<float>{1, 2, 5, 6, 3, 4, 7, 8, 0}));
}

TEST(WeightImportance, AnotherLengthIsRefused) {
  BlockWeight experts{.role = "ffn_up_exps", .name = "blk.{}.ffn_up_exps", .rows = 4, .cols = 8, .experts = 3};
  const auto refusal = [](const ImportanceMatrix& matrix, const std::string& name, const BlockWeight& weight) {
    try {
      importance_of(matrix, name, weight);
    } catch (const LoadError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(with({{"blk.12.attn_q.weight", rising(7)}}), kQueryTensor, kQuery),
            "m: tensor 'blk.12.attn_q.weight' has 7 values, the model's has 8 columns");
  EXPECT_EQ(refusal(with({{"blk.0.ffn_up_exps.weight", rising(16)}}), "blk.0.ffn_up_exps.weight", experts),
            "m: tensor 'blk.0.ffn_up_exps.weight' has 16 values, the model's has 8 columns, or 24 for 3 experts");
  EXPECT_EQ(refusal(with({{"blk.0.ffn_up_exps.weight", rising(24)}}), "blk.0.ffn_up_exps.weight", experts), "");
}

TEST(WeightImportance, AMatrixOfAnotherModelIsRefused) {
  const std::string folder = MILLRACE_TEST_DATA "/../golden/tiny/llama";
  const auto checkpoint = checkpoint::open_checkpoint(Env::system(), folder).or_throw();
  const ModelSpec spec = make_spec(*checkpoint).or_throw();
  const auto columns = static_cast<std::size_t>(spec.hidden_size);
  const auto refusal = [&](const std::string& name, std::size_t n) {
    const auto checked = check_importance(with({{name, rising(n)}}), *checkpoint, spec);
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(refusal("blk.0.attn_q.weight", columns), "");
  EXPECT_EQ(refusal("output.weight", columns), "");
  EXPECT_NE(refusal("blk.0.attn_q.weight", columns + 1).find("'blk.0.attn_q.weight' has"), std::string::npos);
  EXPECT_NE(refusal("blk.77.attn_q.weight", columns).find("m: tensor 'blk.77.attn_q.weight' is none of "),
            std::string::npos);
}

// Rows of f32 whose experts' columns count differently.
TEST(WeightImportance, EachExpertIsRoundedByItsOwnColumns) {
  const quant::QuantFormat& q4_0 = *quant::find_format("q4_0");
  std::vector<float> row(32);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(i % 7) - 2.7f * static_cast<float>(i % 3);
  backend::WeightSource source{.name = "w", .format = quant::find_format("f32"), .rows = 2, .cols = 32, .read = {}};
  source.experts = 2;
  source.read = [row](std::int64_t, std::int64_t count, std::span<std::byte> out) {
    for (std::size_t r = 0; r < static_cast<std::size_t>(count); ++r) {
      std::memcpy(out.data() + r * row.size() * sizeof(float), row.data(), row.size() * sizeof(float));
    }
  };
  std::vector<float> importance = rising(64);
  std::ranges::fill(std::span(importance).first(16), 1e4f);
  const auto shared = std::make_shared<const std::vector<float>>(importance);
  const backend::WeightSource rounded = quantized_source(source, &q4_0, shared);
  std::vector<std::byte> blocks(4 * q4_0.row_bytes(32)), expected(blocks.size());
  rounded.read(0, 2, std::span(blocks).first(blocks.size() / 2));
  rounded.read(2, 2, std::span(blocks).last(blocks.size() / 2));
  for (std::size_t r = 0; r < 4; ++r) {
    quant::pack_searched(q4_0, row, std::span<const float>(importance).subspan(r / 2 * 32, 32),
                         expected.data() + r * q4_0.row_bytes(32));
  }
  EXPECT_EQ(blocks, expected);
  EXPECT_NE(rounded.name, quantized_source(source, &q4_0).name) << "or packed weights of another matrix would be read";
}

}  // namespace
}  // namespace millrace::model

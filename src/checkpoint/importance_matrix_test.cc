#include "checkpoint/importance_matrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/memory_env.h"
#include "checkpoint/gguf_writer.h"

namespace millrace::checkpoint {
namespace {

using Means = std::map<std::string, std::vector<float>>;

void append_raw(std::string& bytes, const auto& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

std::string older_entry(const std::string& name, std::int32_t calls, const std::vector<float>& values) {
  std::string bytes;
  append_raw(bytes, static_cast<std::int32_t>(name.size()));
  bytes += name;
  append_raw(bytes, calls);
  append_raw(bytes, static_cast<std::int32_t>(values.size()));
  for (const float v : values) append_raw(bytes, v);
  return bytes;
}

std::string older_file(const std::vector<std::string>& entries) {
  std::string bytes;
  append_raw(bytes, static_cast<std::int32_t>(entries.size()));
  for (const std::string& entry : entries) bytes += entry;
  return bytes;
}

struct Floats {
  std::string name;
  Shape shape;
  std::vector<float> values;
};

std::string gguf_file(const std::vector<Floats>& tensors, const std::string& type = "imatrix") {
  const std::vector<GgufEntry> metadata = {{"general.type", type}};
  std::vector<TensorSpec> specs;
  for (const Floats& tensor : tensors) specs.push_back({tensor.name, quant::find_format("f32"), tensor.shape});
  std::string bytes = *gguf_header_bytes(metadata, specs);
  for (const Floats& tensor : tensors) {
    for (const float v : tensor.values) append_raw(bytes, v);
    bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
  }
  return bytes;
}

Result<ImportanceMatrix> read_matrix(const std::string& bytes) {
  MemoryEnv env;
  env.files["m"] = bytes;
  return read_importance_matrix(env, "m");
}

std::string matrix_refusal(const std::string& bytes) {
  const auto matrix = read_matrix(bytes);
  return matrix ? "" : matrix.error().message;
}

TEST(ImportanceMatrix, SumsAreDividedByCountsInBothForms) {
  const Means expected = {{"a.weight", {2.0f, 0.5f}}};
  EXPECT_EQ(read_matrix(older_file({older_entry("a.weight", 4, {8.0f, 2.0f})}))->means, expected);
  EXPECT_EQ(read_matrix(
                gguf_file({{"a.weight.in_sum2", Shape{1, 2}, {8.0f, 2.0f}}, {"a.weight.counts", Shape{1, 1}, {4.0f}}}))
                ->means,
            expected);
  // What the tool writes behind the entries is the name of its text.
  std::string named = older_file({older_entry("a.weight", 4, {8.0f, 2.0f})});
  append_raw(named, std::int32_t{100});
  append_raw(named, std::int32_t{4});
  EXPECT_EQ(read_matrix(named + "text")->means, expected);
}

TEST(ImportanceMatrix, ExpertsHaveCountsOfTheirOwnAndUnseenOnesAreEven) {
  const auto matrix = read_matrix(gguf_file({{"e.weight.counts", Shape{3, 1}, {2.0f, 0.0f, 1.0f}},
                                             {"e.weight.in_sum2", Shape{3, 2}, {8.0f, 2.0f, 0.0f, 0.0f, 5.0f, 6.0f}}}));
  EXPECT_EQ((*matrix).means, (Means{{"e.weight", {4.0f, 1.0f, 1.0f, 1.0f, 5.0f, 6.0f}}}));
  EXPECT_EQ(read_matrix(older_file({older_entry("a", 0, {0.0f, 0.0f})}))->means, (Means{{"a", {1.0f, 1.0f}}}));
  // A count below a half is none: the largest sum would overflow.
  EXPECT_EQ(read_matrix(gguf_file({{"a.in_sum2", Shape{1, 1}, {3e38f}}, {"a.counts", Shape{1, 1}, {1e-3f}}}))->means,
            (Means{{"a", {1.0f}}}));
}

TEST(ImportanceMatrix, EveryTruncationIsRefused) {
  const std::string older = older_file({older_entry("a.weight", 4, {8.0f, 2.0f}), older_entry("b", 1, {1.0f})});
  for (std::size_t n = 0; n < older.size(); ++n) EXPECT_NE(matrix_refusal(older.substr(0, n)), "") << n;
  const std::string gguf = gguf_file({{"a.in_sum2", Shape{1, 2}, {8.0f, 2.0f}}, {"a.counts", Shape{1, 1}, {4.0f}}});
  for (std::size_t n = 0; n + 32 < gguf.size(); ++n) EXPECT_NE(matrix_refusal(gguf.substr(0, n)), "") << n;
}

TEST(ImportanceMatrix, WhatIsNoNumberFromZeroOnIsNamed) {
  EXPECT_EQ(matrix_refusal(older_file({older_entry("a.weight", 4, {8.0f, -2.0f})})),
            "m: tensor 'a.weight': value 1 is -2; a sum of squares or a count is a number from 0 on");
  EXPECT_EQ(matrix_refusal(older_file({older_entry("a.weight", 4, {NAN})})),
            "m: tensor 'a.weight': value 0 is nan; a sum of squares or a count is a number from 0 on");
  EXPECT_EQ(matrix_refusal(gguf_file({{"a.in_sum2", Shape{1, 1}, {INFINITY}}, {"a.counts", Shape{1, 1}, {4.0f}}})),
            "m: tensor 'a.in_sum2': value 0 is inf; a sum of squares or a count is a number from 0 on");
  EXPECT_EQ(matrix_refusal(older_file({older_entry("a", -1, {1.0f})})),
            "m: the number of calls is -1, expected at least 0");
}

TEST(ImportanceMatrix, OtherFilesAreNamedForWhatTheyAre) {
  EXPECT_EQ(matrix_refusal(gguf_file(std::vector<Floats>(), "model")),
            "m: general.type is 'model', expected 'imatrix': this is not an importance matrix");
  EXPECT_EQ(matrix_refusal(gguf_file(std::vector<Floats>())), "m: an importance matrix without entries");
  EXPECT_EQ(matrix_refusal(gguf_file({{"a.in_sum2", Shape{1, 2}, {8.0f, 2.0f}}})), "m: tensor 'a.counts' is missing");
  EXPECT_EQ(matrix_refusal(
                gguf_file({{"a.in_sum2", Shape{1, 3}, {1.0f, 1.0f, 1.0f}}, {"a.counts", Shape{2, 1}, {1.0f, 1.0f}}})),
            "m: tensor 'a' has 3 sums and 2 counts, expected a multiple");
  EXPECT_EQ(matrix_refusal(older_file({})), "m: the number of entries is 0, expected at least 1");
  EXPECT_EQ(matrix_refusal(older_file({older_entry("a", 1, {1.0f}), older_entry("a", 1, {1.0f})})),
            "m: tensor 'a' is there twice");
  MemoryEnv env;
  EXPECT_EQ(read_importance_matrix(env, "absent").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace millrace::checkpoint

#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "model/weights/weight_reader.h"

namespace millrace::model {

// What a GPTQ checkpoint's configuration says of all its matrices. Bits and groups follow from the shapes of each.
struct GptqRules {
  bool zeros_less_one = true;  // qzeros hold z - 1
  bool symmetric = false;      // all z are 2^(bits - 1)
  bool ordered = false;        // columns are in groups by g_idx, which must be there (desc_act)
};

// <stem>.qweight i32 [cols * bits / 32, rows], .qzeros i32 [groups, rows * bits / 32], .scales [groups, rows] and
// .g_idx i32 [cols]; 4 or 8 bits, groups of a multiple of 32 columns. Delivered as q4_0 and q8_0 where every zero point
// is the middle, else as q4_z and q8_z: exactly the values of the file. Columns of one group lie together.
class GptqWeight final : public StoredWeight {
 public:
  // Reads all but the codes. Throws LoadError naming the tensor.
  GptqWeight(const checkpoint::Checkpoint& checkpoint, const std::string& stem, std::int64_t rows, std::int64_t cols,
             const GptqRules& rules);
  bool zeros_contradict = false;  // qzeros hold z where the rules say z - 1, and were taken for what they hold
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override;
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override;

 private:
  const checkpoint::RawTensor& words(const std::string& name, const Shape& shape);
  std::vector<std::uint32_t> read_words(const checkpoint::RawTensor& tensor) const;
  void read_groups(const std::string& stem, const GptqRules& rules);
  void read_scales(const std::string& stem);
  void read_zero_points(const GptqRules& rules);
  void load_codes() const;
  [[noreturn]] void fail(const std::string& tensor, const std::string& what) const;

  const checkpoint::Checkpoint& checkpoint_;
  std::int64_t rows_, cols_, groups_ = 0;
  int bits_ = 0;
  const checkpoint::RawTensor *codes_ = nullptr, *zeros_ = nullptr, *scales_ = nullptr, *group_of_ = nullptr;
  std::vector<std::int32_t> group_of_block_;  // of 32 columns as delivered
  std::vector<std::uint16_t> scale_bits_;     // [groups, rows], f16
  std::vector<std::int8_t> zero_points_;      // [groups, rows], beside 2^(bits - 1); empty where all are 0
  mutable std::once_flag loaded_;
  mutable std::vector<std::uint32_t> words_;
};

}  // namespace millrace::model

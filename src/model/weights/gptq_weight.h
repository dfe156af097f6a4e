#pragma once

#include <array>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "model/weights/gptq_tensors.h"
#include "model/weights/weight_reader.h"

namespace millrace::model {

// A GPTQ matrix in the format of gptq_format(), with exactly the values of the file. Columns are ordered by group.
class GptqWeight final : public StoredWeight {
 public:
  // Reads all tensors but the codes. Throws LoadError naming the tensor.
  GptqWeight(const GptqTensors& stored, const GptqRules& rules);
  bool zeros_contradict() const noexcept { return zeros_.contradict; }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override;
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override;

 private:
  static constexpr std::int64_t kRun = 32;  // columns whose codes lie together in all formats delivered
  using Codes = std::array<std::uint8_t, kRun>;
  void sort_columns(const std::vector<std::uint32_t>& group);
  void read_scales();
  void load_codes() const;
  void unpack_column(std::int64_t column, std::int64_t first, std::size_t at, std::span<Codes> out) const noexcept;
  void write_run(std::int64_t at, std::int64_t row, const Codes& codes, std::byte* out) const noexcept;

  GptqTensors stored_;
  GptqZeroPoints zeros_;
  std::vector<std::int32_t> group_of_block_;  // of the format
  std::uint8_t flipped_bits_ = 0;          // of codes of 8 bits: q8_0 keeps signed bytes, the others codes as they are
  std::vector<std::uint16_t> scale_bits_;  // [groups, rows], f16
  mutable std::once_flag loaded_;
  mutable std::vector<std::uint32_t> words_;
};

}  // namespace millrace::model

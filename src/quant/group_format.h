#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "quant/format.h"

// Formats that no file holds: codes of a few bits, and one scale and perhaps one offset for each group of consecutive
// values. Readers of checkpoints whose scales and zero points are tensors of their own convert to them, value by value
// exactly (docs/quant.md). Names: "int4_g128" (value = scale * (q - 8)), "int4_g128z" (scale * (q - zero point)),
// "int4_g64m_bf16" (scale * q + minimum, both bf16), "nf4_g64" (scale * level of q), "e4m3_g128" (scale * q, an f32 and
// e4m3 numbers).

namespace millrace::quant {

enum class GroupOffset : std::uint8_t { kNone, kZeroPoint, kMinimum };

// What codes stand for: integers, or the 16 levels of a normal distribution's quantiles (arXiv:2305.14314) or of a
// float of 4 bits as bitsandbytes has them, each 1 at most; or numbers of 8 bits. No code of kE4m3 may be NaN: kernels
// would take it for a number.
enum class GroupCodes : std::uint8_t { kInteger, kNf4, kFp4, kE4m3 };

struct GroupSpec {
  int bits = 4;      // 2, 3, 4, 5, 6 or 8; 4 for levels, 8 for e4m3
  int values = 128;  // of a group: 32, 64, 128 or 256
  GroupOffset offset = GroupOffset::kNone;
  DType number = DType::kF16;  // of scale and minimum: kF16, kBF16 or kF32
  GroupCodes codes = GroupCodes::kInteger;

  friend bool operator==(const GroupSpec&, const GroupSpec&) = default;
};

inline constexpr int kGroupSizes[] = {32, 64, 128, 256};

// All of them, and the one of that spec; null if there is none. Pointers are valid for the life of the process.
std::span<const QuantFormat> group_formats();
const QuantFormat* find_group_format(const GroupSpec& spec) noexcept;
// The format of all_formats() or group_formats() of that name; null if there is none.
const QuantFormat* find_any_format(std::string_view name) noexcept;
// What a format of group_formats() is; null for any other.
const GroupSpec* group_spec(const QuantFormat& format) noexcept;
// The largest group size of kGroupSizes that divides `values`; 0 if none does.
int largest_group(std::int64_t values) noexcept;
// The 16 levels of nf4 or fp4.
std::span<const float, 16> group_levels(GroupCodes codes) noexcept;

// Writes a block. `scale` and `minimum` are bits of the spec's number type, `zero_point` the code that stands for 0.
struct GroupHeader {
  std::uint32_t scale = 0, minimum = 0;
  std::uint8_t zero_point = 0;
};
void store_group(const GroupSpec& spec, const GroupHeader& header, const std::uint8_t* codes,
                 std::byte* block) noexcept;

}  // namespace millrace::quant

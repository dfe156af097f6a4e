#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "quant/format.h"

namespace millrace::quant {

// Blocks of random codes, for formats that are only read. Any bytes are a block of theirs, and how large its values are
// is up to its scale, which is found by asking the format's AffineForm: no format says anything about this.
class RandomBlocks {
 public:
  // False for formats whose blocks have no f16 scale, or minima beside it.
  static bool known_for(const QuantFormat& format) noexcept;
  // The format must be known. Unpacks a thousand of its blocks.
  explicit RandomBlocks(const QuantFormat& format);

  // Gives whole blocks of random bytes the scale with which values of such blocks have the standard deviation. That of
  // a single block differs, as its other scales are random, too. Any thread.
  void set_deviation(float deviation, std::span<std::byte> blocks) const noexcept;

 private:
  void set_scale(std::uint16_t half, std::byte* block) const noexcept;
  float measure_spread(const QuantFormat& format) const;

  std::array<std::size_t, 16> scale_bits_{};  // where a block has bit i of its scale
  std::size_t block_bytes_;
  float spread_ = 1.0f;  // standard deviation of the values of random blocks whose scale is 1
};

}  // namespace millrace::quant

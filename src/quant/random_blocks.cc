#include "quant/random_blocks.h"

#include <algorithm>
#include <random>
#include <vector>

#include "base/check.h"

namespace millrace::quant {
namespace {

void put_bit(std::byte* block, std::size_t at, bool value) noexcept {
  const std::byte bit{static_cast<std::uint8_t>(1u << (at % 8))};
  block[at / 8] = value ? block[at / 8] | bit : block[at / 8] & ~bit;
}

}  // namespace

bool RandomBlocks::known_for(const QuantFormat& format) noexcept {
  using Scales = AffineForm::Scales;
  const AffineForm& form = format.affine;
  const bool half = form.scales == Scales::kHalf || form.scales == Scales::kProduct;
  return form.decompose != nullptr && half && !form.has_min;
}

RandomBlocks::RandomBlocks(const QuantFormat& format) : block_bytes_(static_cast<std::size_t>(format.block_bytes)) {
  CHECK(known_for(format));
  std::vector<std::byte> block(block_bytes_);
  AffineBlock parts;
  for (std::size_t at = 0; at < 8 * block.size(); ++at) {
    put_bit(block.data(), at, true);
    format.affine.decompose(block.data(), parts);
    if (parts.scale != 0) scale_bits_[static_cast<std::size_t>(std::countr_zero(parts.scale))] = at;
    put_bit(block.data(), at, false);
  }
  spread_ = measure_spread(format);
}

void RandomBlocks::set_deviation(float deviation, std::span<std::byte> blocks) const noexcept {
  const std::uint16_t half = f32_to_f16(deviation / spread_);
  for (; !blocks.empty(); blocks = blocks.subspan(block_bytes_)) set_scale(half, blocks.data());
}

void RandomBlocks::set_scale(std::uint16_t half, std::byte* block) const noexcept {
  for (std::size_t i = 0; i < scale_bits_.size(); ++i) put_bit(block, scale_bits_[i], (half >> i & 1) != 0);
}

float RandomBlocks::measure_spread(const QuantFormat& format) const {
  constexpr int kBlocks = 1024;  // to about 1 %
  std::mt19937 random(1);
  std::vector<std::byte> block(block_bytes_);
  std::vector<float> values(static_cast<std::size_t>(format.block_values));
  double squares = 0.0;
  for (int i = 0; i < kBlocks; ++i) {
    std::ranges::generate(block, [&] { return static_cast<std::byte>(random()); });
    set_scale(f32_to_f16(1.0f), block.data());
    format.unpack(block.data(), values);
    for (const float v : values) squares += static_cast<double>(v) * v;
  }
  return static_cast<float>(std::sqrt(squares / kBlocks / format.block_values));
}

}  // namespace millrace::quant

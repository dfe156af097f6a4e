#include "quant/block32.h"
#include "quant/format.h"

namespace millrace::quant::formats {
namespace {

// value = d * kLevels[q]: f16 d, 16 bytes of nibbles; levels denser near zero, where weights are.
constexpr std::array<std::int8_t, 16> kLevels = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

struct Fit {
  float d = 0.0f, error = INFINITY;
};

// Rounds to `trial` times the levels, then finds the best scale for those codes by least squares.
Fit refit(std::span<const float> x, float trial) noexcept {
  const float inverse = 1.0f / trial;
  float dot = 0.0f, norm = 0.0f, sum = 0.0f;
  for (const float v : x) {
    const float level = kLevels[nearest_level(kLevels, v * inverse)];
    dot += v * level;
    norm += level * level;
    sum += v * v;
  }
  const float d = dot / norm;  // no level is 0
  return {.d = d, .error = sum - d * dot};
}

constexpr int kBytes = 18;

void unpack_block(const std::byte* block, std::span<float> out) noexcept {
  const float d = load_half(block);
  Codes32 codes;
  load_nibbles(block + 2, codes);
  for (int i = 0; i < kBlock32; ++i) out[i] = d * static_cast<float>(kLevels[codes[i]]);
}

void pack_block(std::span<const float> x, std::byte* block) noexcept {
  float extreme = 0.0f;
  for (const float v : x) {
    if (std::fabs(v) > std::fabs(extreme)) extreme = v;
  }
  Fit best;
  for (int step = -7; step <= 7 && extreme != 0.0f; ++step) {
    const Fit fit = refit(x, extreme / static_cast<float>(kLevels[0] + step));
    if (fit.error < best.error) best = fit;
  }
  store_half(block, best.d);
  const float stored = load_half(block);
  Codes32 codes{};
  for (int i = 0; i < kBlock32; ++i)
    codes[i] = stored == 0.0f ? std::uint8_t{8} : nearest_level(kLevels, x[i] / stored);
  store_nibbles(block + 2, codes);
}

void decompose(const std::byte* block, AffineBlock& out) noexcept {
  out.scale = load_bits(block);
  Codes32 codes;
  load_nibbles(block + 2, codes);
  std::memcpy(out.codes, codes.data(), codes.size());
}

}  // namespace

QuantFormat iq4_nl() {
  return {.name = "iq4_nl",
          .gguf_type = 20,
          .safetensors_dtype = "",
          .block_values = kBlock32,
          .block_bytes = kBytes,
          .unpack = unpack_blocks<unpack_block, kBlock32, kBytes>,
          .pack = pack_blocks<pack_block, kBlock32, kBytes>,
          .max_relative_error = 0.15f,
          .affine = {.code_bits = 4, .zero = 128, .levels = kLevels.data(), .decompose = decompose}};
}

}  // namespace millrace::quant::formats

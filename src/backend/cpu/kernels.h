#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/host_operands.h"
#include "backend/cpu/kv_layout.h"
#include "base/cpu.h"

// Interface of the kernels. Each file of scalar/, avx2/ and avx512/ defines one function that returns a KernelSet.
// CMake collects them in all_kernel_sets(), and dispatch.cc chooses for each operation the best one that the processor
// runs. Kernels are noexcept, use one thread, and take raw pointers; the caller divides the work.

namespace millrace::backend::cpu {

// Output rows of a weight in a panel. One vector holds the same k of 16 rows, so that no horizontal sum is needed.
inline constexpr int kPanelRows = 16;
// Values of activations in a quantization group.
inline constexpr int kGroup = 32;
// Rows of activations in a tile, and the maximum that products keep in registers.
inline constexpr std::int64_t kTileRows = 16;

enum class ActivationType {
  kF32,   // unchanged
  kBf16,  // rounded to bf16, as pairs
  // In Int8Groups:
  kInt8,       // each has a scale
  kInt8Block,  // 8 share a scale, and each has a small integer beside it: sums of their products stay integers
  kInt8Row,    // all of a row share a scale
};
inline constexpr int kActivationTypes = 5;
inline constexpr int kBlockGroups = 8;
// The largest integer beside a scale: with it no sum over 256 values leaves 32 bits, whatever the format.
inline constexpr int kMaxMultiplier = 8;

constexpr bool is_int8(ActivationType type) noexcept { return type >= ActivationType::kInt8; }

// A group of 32 int8 activations: x = code * scale, or code * multiplier * scale.
struct alignas(16) Int8Group {
  std::int8_t codes[kGroup];
  float scale;
  union {
    // kInt8, kInt8Row: minus the sum of the codes that share the scale, where dot products with weights that have a
    // zero point start.
    std::int32_t minus_sum;
    std::int16_t multiplier[2];  // kInt8Block: the same number twice
  };
  union {
    std::int32_t minus_half_sum[2];  // kInt8: minus_sum of the first and of the second 16 codes
    // kInt8Block: minus the multiplier times the sum of the codes, of the group and of the one behind it among the 8;
    // of the last one 0.
    std::int16_t minus_sums[2];
  };
};

// One matrix of activations [rows, k] in the forms that kernels read.
struct Activations {
  std::int64_t rows = 0, k = 0;
  const float* f32 = nullptr;  // row stride f32_stride
  std::int64_t f32_stride = 0;
  const std::uint16_t* bf16 = nullptr;  // row stride k
  // Int8 rows lie in tiles of kTileRows rows, the last tile with the rest. Within a tile they lie group by group, so
  // that a kernel reads a tile as one linear stream. Separate rows of 2 to 8 KB would compete for few sets of the first
  // cache.
  const Int8Group* groups = nullptr;
  std::int64_t stored_rows = 0;  // number of stored rows from the beginning of its tile on
  // Names what the int8 rows hold: no other contents in this process have the number. A kernel that puts rows into
  // another order keeps that for the next call with the same number. 0: unknown.
  std::uint64_t contents = 0;

  // Group g of row r is groups[int8_at(r) + g * int8_step(r)].
  std::int64_t int8_at(std::int64_t r) const noexcept {
    return r / kTileRows * kTileRows * (k / kGroup) + r % kTileRows;
  }
  std::int64_t int8_step(std::int64_t r) const noexcept {
    return std::min(kTileRows, stored_rows - r / kTileRows * kTileRows);
  }
};

// Memory that is read after a product, and asked for while it is computed: `lines` cache lines with each group of each
// panel that passes four rows or more. A product that is short of memory's time has less to gain from it.
struct AheadStream {
  struct Range {
    const std::byte* first;
    std::size_t bytes;
  };
  const std::byte *at = nullptr, *end = nullptr;
  const Range *next = nullptr, *last = nullptr;
  int lines = 1;
};

struct LinearArgs {
  const std::byte* panels;  // the first panel to compute
  std::int64_t n_panels;
  std::size_t panel_bytes;
  Activations x;  // all of its rows are computed
  float* out;     // [rows, n_panels*16]; column 0 belongs to the first panel
  std::int64_t out_stride;
  std::int64_t out_columns;  // columns to store; the last panel may be partly padding
  const float* bias;         // [out_columns] or null
  bool accumulate;           // out += instead of out =
  const quant::QuantFormat* format;
  float factor = 1.0f;  // of the whole matrix: the product is multiplied by it before the bias is added
  AheadStream* ahead = nullptr;
};

// One way of computing y = x W^T for weights of one format.
struct LinearKernel {
  std::string_view name;      // "int8"; shown with the instruction set
  std::string_view format;    // quant format name; "*" = any
  MatmulPrecision precision;  // the policy for which it is chosen
  ActivationType activation;
  int k_multiple;  // k must be a multiple of this
  std::size_t (*panel_bytes)(const quant::QuantFormat& format, std::int64_t k);
  // Packs up to 16 rows; row r is at rows + r*row_bytes. Missing rows are packed as zeros.
  void (*pack)(const quant::QuantFormat& format, const std::byte* rows, int n_rows, std::int64_t k, std::byte* panel);
  // Unpacks one row of a panel to f32.
  void (*unpack_row)(const quant::QuantFormat& format, const std::byte* panel, int row, std::int64_t k, float* out);
  void (*run)(const LinearArgs& args);
};

// The first position that a token sees; window and chunk as in AttendArgs.
constexpr std::int64_t first_seen(std::int64_t position, std::int64_t window, std::int64_t chunk) noexcept {
  const std::int64_t in_window = window > 0 ? position - window + 1 : 0;
  return std::max({std::int64_t{0}, in_window, chunk > 0 ? position / chunk * chunk : 0});
}

// Query rows of one sequence for some key/value heads. Row r is token r / group with query head r % group of the kv
// head's group.
struct AttendRows {
  const float* q;  // token t, query head h of the first kv head's group: q + t*q_stride + h*Dk
  std::int64_t q_stride;
  float* out;  // out + t*out_stride + h*Dv
  std::int64_t out_stride;
  std::int64_t n_tokens;  // n_tokens * group * n_heads <= kAttendRows
  std::int64_t group;     // query heads of a kv head; of one kv head also some of them
  std::int64_t first_head, n_heads;
  std::int64_t first_position;  // of token 0
  std::int64_t window, chunk;
  float scale, softcap;
  const float* alibi;  // slopes, or scores of sinks, of the query heads from that of `q` on; null: none
  const float* sinks;
  const std::int32_t* pages;
  HostKvPages kv;
  decltype(KvLayout::gather) gather;  // of the pages' layout
  // Only keys of the splits [first_split, last_split) are read. If `partials` is set, the state of each row in each of
  // these splits goes there instead of to `out`: [split][kv head][row][2 + Pv] as (max, sum, unnormalised output).
  std::int64_t first_split, last_split;
  float* partials;
  std::byte* scratch;  // attend_scratch_bytes(Pk, Pv) bytes, aligned to 64

  std::int64_t rows() const noexcept { return n_tokens * group * n_heads; }
  std::int64_t last_position() const noexcept { return first_position + n_tokens - 1; }
  std::int64_t lowest_position() const noexcept {  // that any row attends to
    return first_seen(first_position, window, chunk);
  }
};

// Attention over pages of one encoding of kv_encodings/.
struct AttentionKernel {
  std::string_view encoding;
  void (*run)(const AttendRows&);
};

struct KernelSet {
  Isa isa = Isa::kScalar;
  std::vector<LinearKernel> linears;
  std::vector<AttentionKernel> attentions;  // of an encoding the first one counts
  // `sink`: of the row's head or null.
  void (*merge_splits)(const float* partials, std::int64_t n_splits, std::int64_t stride, const KvGeometry& geometry,
                       const float* sink, float* out) = nullptr;
  // Convert a key or value of one head to the type of its page; n is a multiple of 16. i8: x = code * scale with codes
  // in [-127, 127]; a NaN or infinity makes the scale NaN.
  void (*to_f16)(const float* x, std::int64_t n, std::uint16_t* out) = nullptr;
  void (*to_int8)(const float* x, std::int64_t n, std::int8_t* codes, float* scale) = nullptr;
  // Quantizes x [k] to an int8 type; group g is written to groups[g * step]. k: whole groups, or blocks of them.
  void (*quantize)(const float* x, std::int64_t k, ActivationType type, Int8Group* groups, std::int64_t step) = nullptr;
  // Quantizes what quantize() left of x, x - scale * code.
  void (*quantize_remainder)(const float* x, std::int64_t k, ActivationType type, const Int8Group* groups,
                             Int8Group* left, std::int64_t step) = nullptr;
  void (*to_bf16)(const float* x, std::int64_t k, std::uint16_t* out) = nullptr;
  void (*rms_norm)(const float* x, std::int64_t n, const float* weight, float eps, float* out) = nullptr;
  void (*layer_norm)(const float* x, std::int64_t n, const float* weight, const float* bias, float eps,
                     float* out) = nullptr;
  // Computes out[i] = activation(gate[i]) * (up ? up[i] : 1).
  void (*activate)(Activation activation, const ActivationParameters& parameters, const float* gate, const float* up,
                   std::int64_t n, float* out) = nullptr;
  void (*rope)(float* head, std::int64_t rotated, const float* cos_sin) = nullptr;
  // out += scale * x, rounded once.
  void (*add)(const float* x, std::int64_t n, float scale, float* out) = nullptr;
  // x = cap(factor * x); softcap 0: without.
  void (*scale)(float* x, std::int64_t n, float factor, float softcap) = nullptr;
  void (*clamp)(float* x, std::int64_t n, float limit) = nullptr;  // to [-limit, limit]
  // x[i * width, (i + 1) * width) *= sigmoid(gate[i]) for each of n gates.
  void (*gate)(const float* gate, std::int64_t n, std::int64_t width, float* x) = nullptr;
  // For probe.h: run `steps` steps of arithmetic on registers and return the number of operations; null if there is no
  // such instruction.
  double (*peak_f32)(std::int64_t steps) = nullptr;
  double (*peak_int8)(std::int64_t steps) = nullptr;
  double (*peak_bf16)(std::int64_t steps) = nullptr;
  // Reads `bytes` bytes once; a multiple of 512.
  void (*read_stream)(const std::byte* data, std::size_t bytes) = nullptr;
};

// Keys in one split. Splits begin at fixed positions, so that a row's result does not depend on how the work is
// divided.
inline constexpr std::int64_t kSplitTokens = 512;
// Maximum of rows in one kernel call.
inline constexpr std::int64_t kAttendRows = 96;
// A copy of a tile's keys, or values, of any encoding: bytes, at most.
constexpr std::size_t part_bytes(std::int64_t padded_key_dim, std::int64_t padded_value_dim) noexcept {
  return static_cast<std::size_t>(kTileTokens * (std::max(padded_key_dim, padded_value_dim) * 4 + 8));
}
std::size_t attend_scratch_bytes(std::int64_t padded_key_dim, std::int64_t padded_value_dim) noexcept;

std::span<const KernelSet> all_kernel_sets();  // generated by CMake

// The best kernels for `isa`: each pointer is from the highest set not above it. `linears` are sorted, the best first.
KernelSet select_kernels(Isa isa);

}  // namespace millrace::backend::cpu

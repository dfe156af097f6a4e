#include "quant/group_format.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <deque>
#include <string>
#include <utility>
#include <vector>

namespace millrace::quant {
namespace {

constexpr int kLargestGroup = 256;
constexpr float kLargestE4m3 = 448.0f;
constexpr int kRun = 32;  // values whose codes lie together
constexpr int kBits[] = {2, 3, 4, 5, 6, 8};
constexpr GroupOffset kOffsets[] = {GroupOffset::kNone, GroupOffset::kZeroPoint, GroupOffset::kMinimum};
constexpr DType kNumbers[] = {DType::kF16, DType::kBF16, DType::kF32};

// As bitsandbytes writes them to quant_map, code by code.
constexpr std::array<float, 16> kNf4 = {-1.0f,
                                        -0.6961928009986877f,
                                        -0.5250730514526367f,
                                        -0.39491748809814453f,
                                        -0.28444138169288635f,
                                        -0.18477343022823334f,
                                        -0.09105003625154495f,
                                        0.0f,
                                        0.07958029955625534f,
                                        0.16093020141124725f,
                                        0.24611230194568634f,
                                        0.33791524171829224f,
                                        0.44070982933044434f,
                                        0.5626170039176941f,
                                        0.7229568362236023f,
                                        1.0f};
constexpr std::array<float, 16> kFp4 = {
    0.0f,  0.005208333333f,  0.6666666667f,  1.0f,  0.3333333333f,  0.5f,  0.1666666667f,  0.25f,
    -0.0f, -0.005208333333f, -0.6666666667f, -1.0f, -0.3333333333f, -0.5f, -0.1666666667f, -0.25f};

// Levels as integers for products of integers: level / kLevelUnit, to the nearest.
constexpr std::array<std::int8_t, 16> integer_levels(const std::array<float, 16>& levels) {
  std::array<std::int8_t, 16> out{};
  for (std::size_t i = 0; i < 16; ++i) {
    const float steps = levels[i] / kLevelUnit;
    out[i] = static_cast<std::int8_t>(steps < 0.0f ? steps - 0.5f : steps + 0.5f);
  }
  return out;
}
constexpr std::array<std::int8_t, 16> kNf4Steps = integer_levels(kNf4), kFp4Steps = integer_levels(kFp4);

constexpr int number_bytes(const GroupSpec& spec) noexcept { return spec.number == DType::kF32 ? 4 : 2; }
constexpr int header_bytes(const GroupSpec& spec) noexcept {
  const int offset = spec.offset == GroupOffset::kNone        ? 0
                     : spec.offset == GroupOffset::kZeroPoint ? 1
                                                              : number_bytes(spec);
  return number_bytes(spec) + offset;
}
constexpr int run_bytes(const GroupSpec& spec) noexcept { return kRun * spec.bits / 8; }
constexpr int block_bytes(const GroupSpec& spec) noexcept {
  return header_bytes(spec) + spec.values / kRun * run_bytes(spec);
}

// Codes of 32 values: bytes; nibbles as in q4_0; else one stream of bits from the lowest on.
void load_codes(int bits, const std::byte* at, std::uint8_t* codes) noexcept {
  if (bits == 8) {
    std::memcpy(codes, at, kRun);
  } else if (bits == 4) {
    for (int i = 0; i < 16; ++i) codes[i] = std::to_integer<std::uint8_t>(at[i]) & 15;
    for (int i = 0; i < 16; ++i) codes[i + 16] = static_cast<std::uint8_t>(std::to_integer<std::uint8_t>(at[i]) >> 4);
  } else {
    std::uint64_t stream = 0;
    for (int i = 0; i < kRun; i += 8, at += bits, stream = 0) {
      std::memcpy(&stream, at, static_cast<std::size_t>(bits));
      for (int j = 0; j < 8; ++j) codes[i + j] = static_cast<std::uint8_t>(stream >> (j * bits) & ((1u << bits) - 1u));
    }
  }
}

void store_codes(int bits, const std::uint8_t* codes, std::byte* at) noexcept {
  if (bits == 8) {
    std::memcpy(at, codes, kRun);
  } else if (bits == 4) {
    for (int i = 0; i < 16; ++i) at[i] = static_cast<std::byte>(codes[i] | codes[i + 16] << 4);
  } else {
    for (int i = 0; i < kRun; i += 8, at += bits) {
      std::uint64_t stream = 0;
      for (int j = 0; j < 8; ++j) stream |= std::uint64_t{codes[i + j]} << (j * bits);
      std::memcpy(at, &stream, static_cast<std::size_t>(bits));
    }
  }
}

float number_of(const GroupSpec& spec, std::uint32_t bits) noexcept { return stored_number(spec.number, bits); }

GroupHeader load_header(const GroupSpec& spec, const std::byte* block) noexcept {
  GroupHeader header;
  const auto width = static_cast<std::size_t>(number_bytes(spec));
  std::memcpy(&header.scale, block, width);
  if (spec.offset == GroupOffset::kMinimum) std::memcpy(&header.minimum, block + width, width);
  if (spec.offset == GroupOffset::kZeroPoint) header.zero_point = std::to_integer<std::uint8_t>(block[width]);
  return header;
}

void unpack_group(const GroupSpec& spec, const std::byte* block, float* out) noexcept {
  const GroupHeader header = load_header(spec, block);
  const float scale = number_of(spec, header.scale), minimum = number_of(spec, header.minimum);
  const int middle = 1 << (spec.bits - 1), zero = spec.offset == GroupOffset::kZeroPoint ? header.zero_point : middle;
  block += header_bytes(spec);
  std::uint8_t codes[kRun];
  for (int at = 0; at < spec.values; at += kRun, block += run_bytes(spec)) {
    load_codes(spec.bits, block, codes);
    for (int i = 0; i < kRun; ++i) {
      if (spec.codes == GroupCodes::kE4m3) {
        out[at + i] = scale * e4m3_to_f32(codes[i]);
      } else if (spec.codes != GroupCodes::kInteger) {
        out[at + i] = scale * group_levels(spec.codes)[codes[i]];
      } else if (spec.offset == GroupOffset::kMinimum) {
        out[at + i] = scale * static_cast<float>(codes[i]) + minimum;
      } else {
        out[at + i] = scale * static_cast<float>(codes[i] - zero);
      }
    }
  }
}

void decompose_group(const GroupSpec& spec, const std::byte* block, AffineBlock& out) noexcept {
  const GroupHeader header = load_header(spec, block);
  out.scale = header.scale;
  out.min = header.minimum;
  if (spec.offset == GroupOffset::kZeroPoint) {
    out.zero_point = static_cast<std::int8_t>(header.zero_point - (1 << (spec.bits - 1)));
  }
  block += header_bytes(spec);
  for (int at = 0; at < spec.values; at += kRun, block += run_bytes(spec)) load_codes(spec.bits, block, out.codes + at);
}

std::uint32_t to_number(const GroupSpec& spec, float value) noexcept {
  if (spec.number == DType::kF32) return std::bit_cast<std::uint32_t>(value);
  return spec.number == DType::kBF16 ? f32_to_bf16(value) : f32_to_f16(value);
}

std::uint8_t nearest_group_level(std::span<const float, 16> levels, float value) noexcept {
  std::uint8_t best = 0;
  for (std::uint8_t i = 1; i < 16; ++i) {
    if (std::fabs(value - levels[i]) < std::fabs(value - levels[best])) best = i;
  }
  return best;
}

std::uint8_t clamped(float code, int top) noexcept {
  return static_cast<std::uint8_t>(std::clamp(std::nearbyint(code), 0.0f, static_cast<float>(top)));
}

// To the nearest code, scales from the extremes.
void pack_group(const GroupSpec& spec, const float* x, std::byte* block) noexcept {
  const auto [low, high] = std::minmax_element(x, x + spec.values);
  const int top = (1 << spec.bits) - 1, middle = (top + 1) / 2;
  const bool levels = spec.codes != GroupCodes::kInteger;
  const float extreme = -*low > *high ? *low : *high, minimum = std::min(*low, 0.0f);
  float wanted = spec.codes == GroupCodes::kE4m3 ? std::fabs(extreme) / kLargestE4m3
                 : levels                        ? std::fabs(extreme)
                                                 : extreme / static_cast<float>(-middle);
  if (spec.offset == GroupOffset::kZeroPoint) wanted = (std::max(*high, 0.0f) - minimum) / static_cast<float>(top);
  if (spec.offset == GroupOffset::kMinimum) wanted = (*high - *low) / static_cast<float>(top);
  GroupHeader header{.scale = to_number(spec, wanted), .minimum = to_number(spec, *low)};
  const float scale = stored_number(spec.number, header.scale), inverse = scale == 0.0f ? 0.0f : 1.0f / scale;
  if (spec.offset == GroupOffset::kZeroPoint) header.zero_point = clamped(-minimum * inverse, top);
  const float zero = spec.offset == GroupOffset::kNone        ? static_cast<float>(middle)
                     : spec.offset == GroupOffset::kZeroPoint ? static_cast<float>(header.zero_point)
                                                              : -stored_number(spec.number, header.minimum) * inverse;
  std::uint8_t codes[kLargestGroup];
  for (int i = 0; i < spec.values; ++i) {
    codes[i] = spec.codes == GroupCodes::kE4m3 ? f32_to_e4m3(x[i] * inverse)
               : levels                        ? nearest_group_level(group_levels(spec.codes), x[i] * inverse)
                                               : clamped(x[i] * inverse + zero, top);
  }
  store_group(spec, header, codes, block);
}

// Half a step, or a whole one at the far end of symmetric codes, and what 16 bits leave of the largest step.
float error_bound(const GroupSpec& spec) noexcept {
  if (spec.codes == GroupCodes::kE4m3) return 0.04f;
  if (spec.codes != GroupCodes::kInteger) return spec.codes == GroupCodes::kNf4 ? 0.16f : 0.17f;
  const auto top = static_cast<float>((1 << spec.bits) - 1);
  const float steps = spec.offset == GroupOffset::kNone        ? 2.0f / (top + 1.0f)
                      : spec.offset == GroupOffset::kZeroPoint ? 2.0f / top
                                                               : 1.0f / top;
  return steps + (spec.number == DType::kBF16 ? 0.01f : spec.number == DType::kF16 ? 0.002f : 0.0002f);
}

// All specs, numbered: templates over the number are what QuantFormat's functions, which know only bytes, are made of.
constexpr int kIntegers = 6 * 4 * 3 * 3, kSpecs = kIntegers + 3 * 4;
constexpr GroupCodes kFloats[] = {GroupCodes::kNf4, GroupCodes::kFp4, GroupCodes::kE4m3};
constexpr GroupSpec spec_at(int i) noexcept {
  if (i >= kIntegers) {
    const int number = i - kIntegers;
    const GroupCodes codes = kFloats[number / 4];
    return {codes == GroupCodes::kE4m3 ? 8 : 4, kGroupSizes[number % 4], GroupOffset::kNone, DType::kF32, codes};
  }
  return {kBits[i / 36], kGroupSizes[i / 9 % 4], kOffsets[i / 3 % 3], kNumbers[i % 3]};
}

template <int i>
void unpack_blocks_of(const std::byte* blocks, std::span<float> out) noexcept {
  constexpr GroupSpec kSpec = spec_at(i);
  for (std::size_t at = 0; at < out.size(); at += kSpec.values, blocks += block_bytes(kSpec)) {
    unpack_group(kSpec, blocks, out.data() + at);
  }
}
template <int i>
void pack_blocks_of(std::span<const float> in, std::byte* blocks) noexcept {
  constexpr GroupSpec kSpec = spec_at(i);
  for (std::size_t at = 0; at < in.size(); at += kSpec.values, blocks += block_bytes(kSpec)) {
    pack_group(kSpec, in.data() + at, blocks);
  }
}
template <int i>
void decompose_of(const std::byte* block, AffineBlock& out) noexcept {
  constexpr GroupSpec kSpec = spec_at(i);
  decompose_group(kSpec, block, out);
}

std::string name_of(const GroupSpec& spec) {
  const char* codes = spec.codes == GroupCodes::kNf4 ? "nf4" : spec.codes == GroupCodes::kFp4 ? "fp4" : "e4m3";
  std::string name = spec.codes == GroupCodes::kInteger ? "int" + std::to_string(spec.bits) : codes;
  name += "_g" + std::to_string(spec.values);
  if (spec.offset != GroupOffset::kNone) name += spec.offset == GroupOffset::kZeroPoint ? "z" : "m";
  if (spec.codes != GroupCodes::kInteger || spec.number == DType::kF16) return name;
  return name + (spec.number == DType::kBF16 ? "_bf16" : "_f32");
}

AffineForm form_of(const GroupSpec& spec, decltype(AffineForm::decompose) decompose) {
  if (spec.codes == GroupCodes::kE4m3) return {};
  AffineForm form{.code_bits = spec.bits,
                  .scales = AffineForm::Scales::kNumber,
                  .number = spec.number,
                  .has_min = spec.offset == GroupOffset::kMinimum,
                  .zero_points = spec.offset == GroupOffset::kZeroPoint,
                  .zero = spec.offset == GroupOffset::kMinimum ? 0 : 1 << (spec.bits - 1),
                  .decompose = decompose};
  if (spec.codes == GroupCodes::kInteger) return form;
  form.zero = 128;
  form.levels = (spec.codes == GroupCodes::kNf4 ? kNf4Steps : kFp4Steps).data();
  form.exact_levels = group_levels(spec.codes).data();
  return form;
}

struct Table {
  std::deque<std::string> names;
  std::vector<GroupSpec> specs;
  std::vector<QuantFormat> formats;

  template <int... i>
  explicit Table(std::integer_sequence<int, i...>) {
    (add(spec_at(i), unpack_blocks_of<i>, pack_blocks_of<i>, decompose_of<i>), ...);
  }
  void add(const GroupSpec& spec, decltype(QuantFormat::unpack) unpack, decltype(QuantFormat::pack) pack,
           decltype(AffineForm::decompose) decompose) {
    specs.push_back(spec);
    formats.push_back({.name = names.emplace_back(name_of(spec)),
                       .gguf_type = -1,
                       .safetensors_dtype = "",
                       .block_values = spec.values,
                       .block_bytes = block_bytes(spec),
                       .unpack = unpack,
                       .pack = pack,
                       .max_relative_error = error_bound(spec),
                       .affine = form_of(spec, decompose)});
  }
};
const Table& table() {
  static const Table all(std::make_integer_sequence<int, kSpecs>{});
  return all;
}

}  // namespace

std::span<const QuantFormat> group_formats() { return table().formats; }

const QuantFormat* find_group_format(const GroupSpec& spec) noexcept {
  for (std::size_t i = 0; i < table().specs.size(); ++i) {
    if (table().specs[i] == spec) return &table().formats[i];
  }
  return nullptr;
}

const QuantFormat* find_any_format(std::string_view name) noexcept {
  for (const QuantFormat& format : table().formats) {
    if (format.name == name) return &format;
  }
  return find_format(name);
}

const GroupSpec* group_spec(const QuantFormat& format) noexcept {
  const QuantFormat *first = table().formats.data(), *last = first + table().formats.size();
  return &format >= first && &format < last ? &table().specs[static_cast<std::size_t>(&format - first)] : nullptr;
}

int largest_group(std::int64_t values) noexcept {
  int largest = 0;
  for (const int size : kGroupSizes) {
    if (values % size == 0) largest = size;
  }
  return largest;
}

std::span<const float, 16> group_levels(GroupCodes codes) noexcept { return codes == GroupCodes::kNf4 ? kNf4 : kFp4; }

void store_group(const GroupSpec& spec, const GroupHeader& header, const std::uint8_t* codes,
                 std::byte* block) noexcept {
  const auto width = static_cast<std::size_t>(number_bytes(spec));
  std::memcpy(block, &header.scale, width);
  if (spec.offset == GroupOffset::kMinimum) std::memcpy(block + width, &header.minimum, width);
  if (spec.offset == GroupOffset::kZeroPoint) block[width] = static_cast<std::byte>(header.zero_point);
  block += header_bytes(spec);
  for (int at = 0; at < spec.values; at += kRun, block += run_bytes(spec)) store_codes(spec.bits, codes + at, block);
}

}  // namespace millrace::quant

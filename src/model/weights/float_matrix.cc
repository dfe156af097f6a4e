#include "model/weights/float_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "model/weights/group_weight.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr std::int64_t kMxValues = 32, kMxBytes = 16;

std::int64_t blocks_of(std::int64_t values, std::int64_t block) noexcept { return (values + block - 1) / block; }

std::int64_t bytes_of_row(const RawTensor& weight) noexcept {
  return static_cast<std::int64_t>(weight.bytes) / weight.shape[0];
}

// The block of the scale tensor's shape: the whole matrix, a row, or `wanted`.
ScaleBlock scale_block(const StoredTensors& tensors, const Float8Tensors& stored, std::int64_t rows,
                       std::int64_t cols) {
  const Shape& shape = stored.scale->shape;
  const bool exponents = stored.scale->format == nullptr;
  if (shape.rank() == 2 && shape[0] == rows && cols % shape[1] == 0 && (exponents || stored.block.rows == 0)) {
    return {1, cols / shape[1]};
  }
  std::vector<std::int64_t> dims;
  for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
  const std::int64_t count = shape.elements();
  if (count == 1 && (rows > 1 || stored.block.rows == 0)) {
    if (stored.block.rows == 0 ||
        (blocks_of(rows, stored.block.rows) == 1 && blocks_of(cols, stored.block.cols) == 1)) {
      return {rows, cols};
    }
    if (dims.size() < 2) return {rows, cols};  // one scale although others have blocks
  }
  if (count == rows && !dims.empty() && dims[0] == rows) return {1, cols};
  std::erase(dims, 1);
  if (stored.block.rows > 0) {
    const std::int64_t down = blocks_of(rows, stored.block.rows), across = blocks_of(cols, stored.block.cols);
    std::vector<std::int64_t> expected = {down, across};
    std::erase(expected, 1);
    if (dims == expected) return stored.block;
    tensors.fail(stored.scale->name,
                 fmt::format("shape {}: expected [{}, {}], one for each block [{}, {}] of [{}, {}]", shape.to_string(),
                             down, across, stored.block.rows, stored.block.cols, rows, cols));
  }
  tensors.fail(stored.scale->name,
               fmt::format("shape {}: expected one scale, or one for each of {} rows", shape.to_string(), rows));
}

void check_matrix(const StoredTensors& tensors, const RawTensor& tensor) {
  if (tensor.shape.rank() == 2) return;
  tensors.fail(tensor.name, fmt::format("shape {}: expected two dimensions", tensor.shape.to_string()));
}

// From values 2j and 2j + 1 in byte j to values j and j + 16, as GGUF has them.
void reorder(const std::byte* from, std::byte* to) noexcept {
  const auto code = [from](int i) { return from[i / 2] >> (i % 2 * 4) & std::byte{15}; };
  for (int i = 0; i < kMxBytes; ++i) to[i] = code(i) | code(i + 16) << 4;
}

// Rows of weight and scale, and all of the others.
std::vector<TensorRange> ranges_of(const Float8Tensors& from, std::int64_t first, std::int64_t count) {
  std::vector<TensorRange> all = {range_of_rows(*from.weight, first, count), range_of_rows(*from.scale, first, count)};
  for (const RawTensor* other : from.others) all.push_back({other, 0, other->bytes});
  return all;
}

class Mxfp4Rows final : public StoredWeight {
 public:
  Mxfp4Rows(const StoredTensors& stored, const Float8Tensors& from, std::int64_t cols)
      : stored_(stored), from_(from), blocks_(cols / kMxValues) {
    format = quant::find_format("mxfp4");
    tensors = {from.weight, from.scale};
    tensors.insert(tensors.end(), from.others.begin(), from.others.end());
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    const std::vector<std::byte> codes = stored_.bytes(*from_.weight, range_of_rows(*from_.weight, first, count));
    const std::vector<std::byte> scales = stored_.bytes(*from_.scale, range_of_rows(*from_.scale, first, count));
    std::byte* to = out.data();
    for (std::size_t i = 0; i < scales.size(); ++i, to += 1 + kMxBytes) {
      if (scales[i] == std::byte{255}) {
        const auto row = first + static_cast<std::int64_t>(i) / blocks_, block = static_cast<std::int64_t>(i) % blocks_;
        stored_.fail(from_.scale->name, fmt::format("the exponent of row {}, block {} is 255: NaN", row, block));
      }
      *to = scales[i];
      reorder(codes.data() + i * kMxBytes, to + 1);
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    return ranges_of(from_, first, count);
  }

 private:
  StoredTensors stored_;
  Float8Tensors from_;
  std::int64_t blocks_;
};

// Four blocks of 16 values as one of nvfp4: their scales, then their codes, with value j in the low half of byte j and
// value j + 8 in the high one.
void pack_nvfp4(const std::byte* scales, const std::byte* codes, std::byte* to) noexcept {
  std::memcpy(to, scales, 4);
  for (int i = 0; i < 32; ++i) {
    const int at = i / 8 * 16 + i % 8;
    const auto code = [codes](int j) { return codes[j / 2] >> (j % 2 * 4) & std::byte{15}; };
    to[4 + i] = code(at) | code(at + 8) << 4;
  }
}

class Nvfp4Rows final : public StoredWeight {
 public:
  // as_values: delivers f32, as blocks of the format do not fit.
  Nvfp4Rows(const StoredTensors& stored, const Float8Tensors& from, float factor, bool as_values)
      : stored_(stored), from_(from), as_values_(as_values) {
    format = quant::find_format(as_values ? "f32" : "nvfp4");
    coding = {"nvfp4", as_values};
    tensors = {from.weight, from.scale};
    tensors.insert(tensors.end(), from.others.begin(), from.others.end());
    if (factor != 1.0f) factors = {factor};
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    const std::vector<std::byte> codes = stored_.bytes(*from_.weight, range_of_rows(*from_.weight, first, count));
    const std::vector<std::byte> scales = stored_.bytes(*from_.scale, range_of_rows(*from_.scale, first, count));
    const auto of_row = scales.size() / static_cast<std::size_t>(count);
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const auto bits = std::to_integer<std::uint8_t>(scales[i]);
      if (bits < 0x7f || bits == 0x80) continue;
      stored_.fail(from_.scale->name,
                   fmt::format("the scale of row {}, group {} is {}", first + static_cast<std::int64_t>(i / of_row),
                               i % of_row, e4m3_to_f32(bits)));
    }
    std::byte* to = out.data();
    if (as_values_) return store_values(scales, codes, to);
    for (std::size_t i = 0; i < scales.size(); i += 4, to += format->block_bytes) {
      pack_nvfp4(scales.data() + i, codes.data() + 8 * i, to);
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    return ranges_of(from_, first, count);
  }

 private:
  static void store_values(std::span<const std::byte> scales, std::span<const std::byte> codes, std::byte* to) {
    constexpr float kE2m1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    for (std::size_t i = 0; i < codes.size() * 2; ++i, to += sizeof(float)) {
      const int code = std::to_integer<int>(codes[i / 2]) >> (i % 2 * 4) & 15;
      const float scale = e4m3_to_f32(std::to_integer<std::uint8_t>(scales[i / 16]));
      const float value = (code < 8 ? kE2m1[code] : -kE2m1[code - 8]) * scale;
      std::memcpy(to, &value, sizeof value);
    }
  }

  StoredTensors stored_;
  Float8Tensors from_;
  bool as_values_;
};

}  // namespace

OpenedMatrix open_float8(const StoredTensors& tensors, const Float8Tensors& stored) {
  check_matrix(tensors, *stored.weight);
  const std::int64_t rows = stored.weight->shape[0], cols = bytes_of_row(*stored.weight);
  const ScaleBlock block = scale_block(tensors, stored, rows, cols);
  const int values = block_of_groups(std::gcd(block.cols, cols));
  GroupMatrix matrix{.rows = rows,
                     .cols = cols,
                     .groups = cols / values,
                     .scale_rows = block.rows,
                     .scale_cols = block.cols,
                     .spec = {.bits = 8, .values = values, .number = DType::kF32, .codes = quant::GroupCodes::kE4m3},
                     .order = {},
                     .group_of_block = {},
                     .codes = codes_by_row(tensors, *stored.weight, Shape{rows, cols}, {.bits = 8}),
                     .numbers = {},
                     .scales_name = stored.scale->name,
                     .tensors = {stored.weight, stored.scale},
                     .by_row = {},
                     .groups_first = false};
  matrix.tensors.insert(matrix.tensors.end(), stored.others.begin(), stored.others.end());
  matrix.numbers = [tensors, scale = stored.scale, block, rows, cols, values] {
    const std::vector<float> scales = tensors.floats(*scale);
    const std::int64_t across = blocks_of(cols, block.cols);
    GroupNumbers numbers;
    numbers.scales.reserve(static_cast<std::size_t>(rows * (cols / values)));
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < cols; c += values) {
        const auto at = static_cast<std::size_t>(r / block.rows * across + c / block.cols);
        numbers.scales.push_back(std::bit_cast<std::uint32_t>(scales[at]));
      }
    }
    return numbers;
  };
  return {rows, cols, group_weight(tensors, std::move(matrix))};
}

OpenedMatrix open_mxfp4(const StoredTensors& tensors, const Float8Tensors& stored) {
  check_matrix(tensors, *stored.weight);
  const std::int64_t rows = stored.weight->shape[0], cols = bytes_of_row(*stored.weight) * 2;
  if (cols % kMxValues != 0 || stored.scale->shape != Shape{rows, cols / kMxValues}) {
    tensors.fail(stored.scale->name, fmt::format("shape {}: expected one exponent for every {} columns of [{}, {}]",
                                                 stored.scale->shape.to_string(), kMxValues, rows, cols));
  }
  return {rows, cols, std::make_unique<Mxfp4Rows>(tensors, stored, cols)};
}

OpenedMatrix open_nvfp4(const StoredTensors& tensors, const Float8Tensors& stored, float factor) {
  constexpr std::int64_t kGroupValues = 16, kBlockValues = 64;
  check_matrix(tensors, *stored.weight);
  const std::int64_t rows = stored.weight->shape[0], cols = bytes_of_row(*stored.weight) * 2;
  if (cols % kGroupValues != 0 || stored.scale->shape != Shape{rows, cols / kGroupValues}) {
    tensors.fail(stored.scale->name, fmt::format("shape {}: expected one scale for every {} columns of [{}, {}]",
                                                 stored.scale->shape.to_string(), kGroupValues, rows, cols));
  }
  return {rows, cols, std::make_unique<Nvfp4Rows>(tensors, stored, factor, cols % kBlockValues != 0)};
}

namespace {

constexpr std::string_view kScaleEndings[] = {".weight_scale_inv", ".weight_scale", ".scale"};
constexpr std::string_view kFloat8[] = {"F8_E4M3"};

const RawTensor* scale_of(const StoredTensors& tensors, const std::string& module) {
  for (const std::string_view ending : kScaleEndings) {
    const RawTensor* scale = tensors.find(module + std::string(ending));
    if (scale != nullptr) return scale;
  }
  return nullptr;
}

const RawTensor* weight_of(const StoredTensors& tensors, const std::string& module) {
  const RawTensor* packed = tensors.find(module + ".weight_packed");
  return packed != nullptr ? packed : tensors.find(module + ".weight");
}

// ModelOpt multiplies by its second scale, compressed-tensors divides.
float nvfp4_factor(const StoredTensors& tensors, const std::string& module) {
  // If it has neither, the name is that of other modules.
  const bool multiplies =
      tensors.find(module + ".weight_scale_2") != nullptr ||
      (tensors.find(module + ".weight_global_scale") == nullptr && !tensors.stems(".weight_scale_2").empty());
  const RawTensor& stored =
      tensors.require(module + (multiplies ? ".weight_scale_2" : ".weight_global_scale"), {"F32"});
  if (stored.shape.elements() != 1) {
    tensors.fail(stored.name, fmt::format("shape {}: expected one number", stored.shape.to_string()));
  }
  const float value = tensors.floats(stored).front();
  if (value == 0.0f || !std::isfinite(1.0f / value)) tensors.fail(stored.name, fmt::format("{}", value));
  return multiplies ? value : 1.0f / value;
}

class FloatReader final : public MatrixReader {
 public:
  FloatReader(const checkpoint::Checkpoint& checkpoint, const ScaleBlock& block)
      : MatrixReader(checkpoint), block_(block) {}

 protected:
  std::vector<std::string> modules() const override {
    std::vector<std::string> all = tensors_.modules(kScaleEndings, kFloat8);
    std::erase_if(all, [this](const std::string& module) { return !has_module(module); });
    return all;
  }
  bool has_module(const std::string& module) const override { return has_float_module(tensors_, module); }
  OpenedMatrix open_module(const std::string& module) const override {
    return open_float_module(tensors_, module, block_);
  }

 private:
  ScaleBlock block_;
};

}  // namespace

bool has_float_module(const StoredTensors& tensors, const std::string& module) {
  if (scale_of(tensors, module) == nullptr) return tensors.has_weight(module, kFloat8);
  return weight_of(tensors, module) != nullptr;
}

OpenedMatrix open_float_module(const StoredTensors& tensors, const std::string& module, const ScaleBlock& block) {
  const RawTensor *scale = scale_of(tensors, module), *weight = weight_of(tensors, module);
  if (scale == nullptr) {
    const bool inverse = !tensors.stems(kScaleEndings[0]).empty();  // as other modules have it
    tensors.fail(module + std::string(kScaleEndings[inverse ? 0 : 1]), "missing: the scales of " + weight->name);
  }
  const Float8Tensors stored{weight, scale, block,
                             tensors_of(tensors, module,
                                        {"input_scale", "activation_scale", "input_scale_ub", "input_global_scale",
                                         "output_scale", "weight_shape", "weight_scale_2", "weight_global_scale"})};
  if (dtype_of(*weight) == "F8_E4M3") return open_float8(tensors, stored);
  static_cast<void>(tensors.require(weight->name, {"U8", "I8", "F8_E4M3"}));
  static_cast<void>(tensors.require(scale->name, {"U8", "F8_E8M0", "F8_E4M3"}));
  if (dtype_of(*scale) == "F8_E4M3") return open_nvfp4(tensors, stored, nvfp4_factor(tensors, module));
  return open_mxfp4(tensors, stored);
}

std::unique_ptr<WeightReader> float_reader(const checkpoint::Checkpoint& checkpoint, const ScaleBlock& block) {
  return std::make_unique<FloatReader>(checkpoint, block);
}

std::vector<const RawTensor*> tensors_of(const StoredTensors& tensors, const std::string& module,
                                         std::initializer_list<std::string_view> names) {
  std::vector<const RawTensor*> found;
  for (const std::string_view name : names) {
    if (const RawTensor* tensor = tensors.find(module + "." + std::string(name))) found.push_back(tensor);
  }
  return found;
}

}  // namespace millrace::model

// MXFP4 as gpt-oss stores its experts: <name>_blocks u8 [experts, rows, cols / 32, 16] and <name>_scales u8 [experts,
// rows, cols / 32] are the matrices of experts that are called <name> or <name>.weight. A byte of codes has
// two consecutive values, the first one in its low half. Codes and scales mean what they mean in the format mxfp4.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "model/weights/weight_reader.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kMethod = "mxfp4", kBlocks = "_blocks", kScales = "_scales", kWeight = ".weight";
constexpr std::int64_t kValues = 32, kCodeBytes = 16;

std::string stem_of(std::string_view name, std::string_view ending) {
  return std::string(name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name);
}

struct StoredMatrix {
  const RawTensor *blocks = nullptr, *scales = nullptr;
  std::int64_t rows = 0, cols = 0;
};

[[noreturn]] void fail(const Checkpoint& checkpoint, const std::string& tensor, const std::string& what) {
  throw_load_error(ErrorCode::kBadFile, tensor, "{}: tensor '{}': {}", checkpoint.path, tensor, what);
}

const RawTensor& find_bytes(const Checkpoint& checkpoint, const std::string& name) {
  if (const RawTensor* other = checkpoint.find(name)) {
    fail(checkpoint, name, fmt::format("{}: expected uint8", other->format->name));
  }
  const RawTensor* tensor = checkpoint.find_integers(name);
  if (tensor == nullptr) fail(checkpoint, name, "missing; expected uint8");
  if (tensor->bytes != static_cast<std::uint64_t>(tensor->shape.elements())) {
    fail(checkpoint, name, fmt::format("{} of {} bytes: expected uint8", tensor->shape.to_string(), tensor->bytes));
  }
  return *tensor;
}

// Throws LoadError naming the tensor that is missing, or has another type or shape.
StoredMatrix find_matrix(const Checkpoint& checkpoint, const std::string& stem) {
  const RawTensor& blocks = find_bytes(checkpoint, stem + std::string(kBlocks));
  const RawTensor& scales = find_bytes(checkpoint, stem + std::string(kScales));
  const Shape& shape = blocks.shape;
  if (shape.rank() != 4 || shape.back() != kCodeBytes) {
    fail(checkpoint, blocks.name,
         fmt::format("{}: expected [experts, rows, columns / {}, {}]", shape.to_string(), kValues, kCodeBytes));
  }
  if (scales.shape != Shape{shape[0], shape[1], shape[2]}) {
    fail(checkpoint, scales.name,
         fmt::format("{}: expected one for each block of {}", scales.shape.to_string(), shape.to_string()));
  }
  return {&blocks, &scales, shape[0] * shape[1], shape[2] * kValues};
}

using Bytes [[gnu::vector_size(kCodeBytes)]] = std::uint8_t;

// From values 2j and 2j + 1 in byte j to values j and j + 16, as GGUF has them.
void reorder(const std::byte* stored, std::byte* codes) noexcept {
  Bytes from;
  std::memcpy(&from, stored, sizeof from);
  const Bytes even = from & 15, odd = from >> 4;
  const Bytes first = __builtin_shufflevector(even, odd, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Bytes second = __builtin_shufflevector(even, odd, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  const Bytes both = first | second << 4;
  std::memcpy(codes, &both, sizeof both);
}

class Mxfp4Weight final : public StoredWeight {
 public:
  Mxfp4Weight(const Checkpoint& checkpoint, const StoredMatrix& stored)
      : checkpoint_(checkpoint), stored_(stored), blocks_of_row_(static_cast<std::uint64_t>(stored.cols / kValues)) {
    format = quant::find_format("mxfp4");
    tensors = {stored.blocks, stored.scales};
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    const std::vector<TensorRange> wanted = ranges(first, count);
    std::vector<std::byte> scales(wanted[1].bytes);
    checkpoint_.read(*stored_.scales, wanted[1].offset, scales).or_throw();
    // The codes go to the end, which the blocks reach only with the last one.
    const std::span<std::byte> codes = out.last(wanted[0].bytes);
    checkpoint_.read(*stored_.blocks, wanted[0].offset, codes).or_throw();
    const std::byte* from = codes.data();
    std::byte* to = out.data();
    for (const std::byte scale : scales) {
      reorder(from, to + 1);
      *to = scale;
      from += kCodeBytes;
      to += 1 + kCodeBytes;
    }
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    const std::uint64_t before = static_cast<std::uint64_t>(first) * blocks_of_row_;
    const std::uint64_t blocks = static_cast<std::uint64_t>(count) * blocks_of_row_;
    return {{stored_.blocks, before * kCodeBytes, blocks * kCodeBytes}, {stored_.scales, before, blocks}};
  }

 private:
  const Checkpoint& checkpoint_;
  StoredMatrix stored_;
  std::uint64_t blocks_of_row_;
};

class Mxfp4Reader final : public WeightReader {
 public:
  explicit Mxfp4Reader(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}
  bool has(const std::string& name) const override {
    const std::string blocks = stem_of(name, kWeight).append(kBlocks);
    return checkpoint_.find_integers(blocks) != nullptr || checkpoint_.find(blocks) != nullptr;
  }
  std::unique_ptr<StoredWeight> open(const std::string& name, const MatrixShape& shape) const override {
    const StoredMatrix stored = find_matrix(checkpoint_, stem_of(name, kWeight));
    const Shape expected{std::max<std::int64_t>(1, shape.experts), shape.rows, shape.cols / kValues, kCodeBytes};
    if (stored.blocks->shape != expected || shape.cols % kValues != 0) {
      fail(checkpoint_, stored.blocks->name,
           fmt::format("{}: expected {}", stored.blocks->shape.to_string(), expected.to_string()));
    }
    return std::make_unique<Mxfp4Weight>(checkpoint_, stored);
  }
  std::vector<MatrixInfo> matrices() const override {
    std::vector<MatrixInfo> all;
    for (const checkpoint::IntegerTensor& one : checkpoint_.integers) {
      if (!one.tensor.name.ends_with(kBlocks)) continue;
      const std::string stem = stem_of(one.tensor.name, kBlocks);
      const StoredMatrix stored = find_matrix(checkpoint_, stem);
      all.push_back({stem, quant::find_format("mxfp4"), stored.rows, stored.cols, {stored.blocks, stored.scales}});
    }
    return all;
  }

 private:
  const Checkpoint& checkpoint_;
};

}  // namespace

// modules_to_not_convert needs nothing, as each weight's tensors tell; `dequantize` is a wish of who loads.
WeightReaderKind mxfp4() {
  return {.method = kMethod,
          .title = "MXFP4",
          .variant = "",
          .version = 1,
          .accepts = [](const JsonFields& quantization,
                        const Checkpoint&) { return quantization.text("quant_method") == kMethod; },
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<Mxfp4Reader>(checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

// compressed-tensors, the format of LLM Compressor. What its tensors are, by the module's scheme and their dtypes:
//   weight_packed i32  codes + 2^(bits - 1) in a row's stream, or 32 / bits of them in a word (older files);
//   weight_shape
//                      [2]; weight_scale [rows, groups]; weight_zero_point packed down the rows; weight_g_idx [cols]
//   weight i8          weight_scale [rows, 1] or [rows, groups]; weight_zero_point i8
//   weight f8_e4m3 and weight_packed u8: see float_matrix.h
#include <algorithm>

#include "base/error.h"
#include "model/weights/compressed_tensors_config.h"
#include "model/weights/float_matrix.h"
#include "model/weights/integer_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kCompressedMethods[] = {"compressed-tensors", "compressed_tensors"};
constexpr std::string_view kCompressedEndings[] = {".weight_scale", ".weight_packed"};
constexpr std::string_view kCompressedTypes[] = {"I8", "F8_E4M3"};  // of weights that must have scales
constexpr std::int64_t kWord = 32, kMaxDim = std::int64_t{1} << 40;

class CompressedReader final : public MatrixReader {
 public:
  CompressedReader(const JsonFields& quantization, const Checkpoint& checkpoint)
      : MatrixReader(checkpoint), config_(quantization) {}

 protected:
  std::vector<std::string> modules() const override {
    std::vector<std::string> all = tensors_.modules(kCompressedEndings, kCompressedTypes);
    std::erase_if(all, [this](const std::string& module) { return !has_module(module); });
    return all;
  }
  bool has_module(const std::string& module) const override {
    return has_float_module(tensors_, module) || tensors_.find(module + ".weight_packed") != nullptr ||
           tensors_.has_weight(module, kCompressedTypes);
  }
  OpenedMatrix open_module(const std::string& module) const override {
    const CompressedScheme& scheme = config_.scheme_of(module);
    static_cast<void>(tensors_.require(module + ".weight_scale", {"F16", "BF16", "F32", "F8_E4M3", "F8_E8M0", "U8"}));
    if (scheme.floating) return open_float_module(tensors_, module, {scheme.block_rows, scheme.block_cols});
    const RawTensor* packed = tensors_.find(module + ".weight_packed");
    IntegerTensors stored = packed != nullptr ? of_words(module, scheme) : of_bytes(module);
    stored.scales = &tensors_.require(module + ".weight_scale", kNumberDtypes);
    check_groups(scheme, stored);
    stored.int8_activations = scheme.int8_activations;
    if (!scheme.symmetric) stored.zero_points = &zero_points(module, stored.packed_zeros);
    stored.group_of = tensors_.find(module + ".weight_g_idx");
    if (scheme.ordered && stored.group_of == nullptr) {
      tensors_.fail(module + ".weight_g_idx", "missing: the order of the columns is not known (actorder is group)");
    }
    for (const RawTensor* other :
         tensors_of(tensors_, module, {"weight_shape", "input_scale", "input_zero_point", "input_global_scale"})) {
      stored.others.push_back(other);
    }
    return open_integers(tensors_, stored);
  }

 private:
  IntegerTensors of_words(const std::string& module, const CompressedScheme& scheme) const {
    const RawTensor& packed = tensors_.require(module + ".weight_packed", {"I32"});
    const RawTensor& shape = tensors_.require(module + ".weight_shape", {"I64", "I32"}, Shape{2});
    const std::vector<std::int64_t> dims = tensors_.integers(shape);
    const std::int64_t of_word = kWord / scheme.bits, rows = dims[0], cols = dims[1];
    if (std::min(rows, cols) < 1 || std::max(rows, cols) > kMaxDim) {
      tensors_.fail(shape.name, fmt::format("[{}, {}]: 1 or more rows and columns expected", rows, cols));
    }
    const std::int64_t streamed = (cols * scheme.bits + kWord - 1) / kWord, by_words = (cols + of_word - 1) / of_word;
    const bool whole_words = packed.shape == Shape{rows, by_words};
    if (packed.shape != Shape{rows, streamed} && !whole_words) {
      tensors_.fail(packed.name,
                    fmt::format("shape {}: expected {} words for each of {} rows of {} codes of {} bits, or "
                                "{} with whole codes in each word, as {} says",
                                packed.shape.to_string(), streamed, rows, cols, scheme.bits, by_words, shape.name));
    }
    const bool by_word = whole_words && streamed != by_words;
    return {.rows = rows,
            .cols = cols,
            .codes = &packed,
            .order = {.bits = scheme.bits, .whole_words = by_word},
            .packed_zeros = true,
            .others = {}};
  }
  // Codes of fewer bits than 8 lie in bytes too.
  IntegerTensors of_bytes(const std::string& module) const {
    const RawTensor& weight = tensors_.require(module + ".weight", {"I8"});
    if (weight.shape.rank() != 2) {
      tensors_.fail(weight.name, fmt::format("shape {}: expected two dimensions", weight.shape.to_string()));
    }
    return {.rows = weight.shape[0],
            .cols = weight.shape[1],
            .codes = &weight,
            .order = {.bits = 8, .flipped = 128},
            .others = {}};
  }
  const RawTensor& zero_points(const std::string& module, bool packed) const {
    return tensors_.require(module + ".weight_zero_point", {packed ? "I32" : "I8"});
  }
  // A scale for each group of the size that the configuration says.
  void check_groups(const CompressedScheme& scheme, const IntegerTensors& stored) const {
    if (scheme.strategy != "group" || scheme.group_size <= 0) return;
    if (stored.cols % scheme.group_size != 0) {
      tensors_.fail(stored.codes->name,
                    fmt::format("{} columns are no whole groups of {} (group_size)", stored.cols, scheme.group_size));
    }
    const Shape expected{stored.rows, stored.cols / scheme.group_size};
    if (stored.scales->shape == expected) return;
    tensors_.fail(stored.scales->name,
                  fmt::format("shape {}: expected {}, for groups of {} columns (group_size)",
                              stored.scales->shape.to_string(), expected.to_string(), scheme.group_size));
  }

  CompressedConfig config_;
};

bool accepts_compressed(const JsonFields& quantization, const Checkpoint&) {
  const auto method = quantization.text("quant_method");
  if (method != kCompressedMethods[0] && method != kCompressedMethods[1]) return false;
  static_cast<void>(CompressedConfig(quantization));
  return true;
}

}  // namespace

WeightReaderKind compressed_tensors() {
  return {.method = kCompressedMethods[0],
          .title = "compressed-tensors",
          .variant = "format",
          .version = 1,
          .accepts = accepts_compressed,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<CompressedReader>(quantization, checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

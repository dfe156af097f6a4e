// Fine-grained FP8 as DeepSeek and those after it save it: weight_scale_inv, which is multiplied, for blocks of
// weight_block_size; or one weight_scale a tensor.
#include "model/weights/float_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kFp8Method = "fp8";

// Of `weight_block_size`; rows 0 if there is none.
ScaleBlock fp8_block(const JsonFields& quantization) {
  const auto size = quantization.numbers("weight_block_size");
  if (!size) return {};
  if (size->size() != 2 || (*size)[0] < 1 || (*size)[1] < 1) {
    quantization.unsupported("weight_block_size", "two numbers from 1 on expected");
  }
  return {static_cast<std::int64_t>((*size)[0]), static_cast<std::int64_t>((*size)[1])};
}

bool accepts_fp8(const JsonFields& quantization, const Checkpoint&) {
  if (quantization.text("quant_method") != kFp8Method) return false;
  const std::string format = quantization.text("fmt").value_or("e4m3");
  if (format != "e4m3") quantization.unsupported("fmt", "'" + format + "' is not supported, only e4m3");
  fp8_block(quantization);
  return true;
}

}  // namespace

WeightReaderKind fp8() {
  return {.method = kFp8Method,
          .accepts = accepts_fp8,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return float_reader(checkpoint, fp8_block(quantization));
          }};
}

}  // namespace millrace::model::weights::readers

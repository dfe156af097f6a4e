// Fine-grained FP8 as DeepSeek and those after it save it: weight_scale_inv, which is multiplied, for blocks of
// weight_block_size; or one weight_scale a tensor.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/weights/float_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kFp8Method = "fp8";
constexpr double kLargestFp8Block = 1 << 30;

// Of `weight_block_size`; rows 0 if there is none.
ScaleBlock fp8_block(const JsonFields& quantization) {
  const auto size = quantization.numbers("weight_block_size");
  if (!size) return {};
  const auto outside = [](double part) { return part < 1.0 || part > kLargestFp8Block; };
  if (size->size() != 2 || std::ranges::any_of(*size, outside)) {
    quantization.unsupported("weight_block_size",
                             quantization.find("weight_block_size")->dump() + ": two numbers from 1 on expected");
  }
  return {static_cast<std::int64_t>((*size)[0]), static_cast<std::int64_t>((*size)[1])};
}

bool accepts_fp8(const JsonFields& quantization, const Checkpoint&) {
  if (quantization.text("quant_method") != kFp8Method) return false;
  const std::string format = quantization.text("fmt").value_or("e4m3");
  if (format != "e4m3") quantization.unsupported("fmt", "'" + format + "' is not supported, only e4m3");
  const std::string activations = quantization.text("activation_scheme").value_or("dynamic");
  if (activations != "dynamic" && activations != "static") {
    quantization.unsupported("activation_scheme", "'" + activations + "' is not supported, only dynamic and static");
  }
  const std::string scales = quantization.text("scale_fmt").value_or("float");
  if (scales != "ue8m0" && scales != "float" && scales != "float32") {
    quantization.unsupported("scale_fmt", "'" + scales + "' is not supported, only ue8m0 and float");
  }
  fp8_block(quantization);
  return true;
}

}  // namespace

WeightReaderKind fp8() {
  return {.method = kFp8Method,
          .title = "FP8",
          .variant = "",
          .version = 1,
          .accepts = accepts_fp8,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return float_reader(checkpoint, fp8_block(quantization));
          }};
}

}  // namespace millrace::model::weights::readers

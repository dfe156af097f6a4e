// TensorRT's Model Optimizer: FP8 with a weight_scale for the tensor, each row or each block; NVFP4 with weight_scale
// and weight_scale_2, which are multiplied; MXFP4 and MXFP8. What each module is, its tensors tell.
#include <algorithm>
#include <array>
#include <cctype>

#include "model/weights/float_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kModelOptMethod = "modelopt";
constexpr std::array<std::string_view, 10> kModelOptFormats = {
    "FP8",   "FP8_PB_WO", "FP8_PB_REAL",    "FP8_PER_CHANNEL_PER_TOKEN", "NVFP4", "W4A16_NVFP4", "NVFP4_W4A16",
    "MXFP4", "MXFP8",     "MIXED_PRECISION"};
constexpr ScaleBlock kModelOptBlock{128, 128};

bool accepts_modelopt(const JsonFields& quantization, const Checkpoint&) {
  const auto method = quantization.text("quant_method");
  if (!method || !method->starts_with(kModelOptMethod)) return false;
  auto format = quantization.text("quant_algo");
  if (!format) {
    const auto inner = quantization.object("quantization");
    format = inner ? inner->text("quant_algo") : std::nullopt;
  }
  if (!format) return true;
  std::string name = *format;  // some of its exporters write it in lower case
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  if (std::ranges::find(kModelOptFormats, name) != kModelOptFormats.end()) return true;
  quantization.unsupported("quant_algo", "'" + *format + "' is not supported, only FP8, NVFP4, MXFP4 and MXFP8");
}

}  // namespace

WeightReaderKind modelopt() {
  return {.method = kModelOptMethod,
          .title = "ModelOpt",
          .variant = "quant_algo",
          .version = 1,
          .accepts = accepts_modelopt,
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return float_reader(checkpoint, kModelOptBlock);
          }};
}

}  // namespace millrace::model::weights::readers

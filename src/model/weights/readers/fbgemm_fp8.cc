// Llama's FP8 checkpoints: a weight_scale for each row.
#include "model/weights/float_matrix.h"

namespace millrace::model::weights::readers {
namespace {

constexpr std::string_view kFbgemmMethod = "fbgemm_fp8";

}  // namespace

WeightReaderKind fbgemm_fp8() {
  return {.method = kFbgemmMethod,
          .title = "FBGEMM FP8",
          .variant = "",
          .version = 1,
          .accepts = [](const checkpoint::JsonFields& quantization,
                        const checkpoint::Checkpoint&) { return quantization.text("quant_method") == kFbgemmMethod; },
          .open = [](const checkpoint::JsonFields&, const checkpoint::Checkpoint& checkpoint)
              -> std::unique_ptr<WeightReader> { return float_reader(checkpoint, {}); }};
}

}  // namespace millrace::model::weights::readers

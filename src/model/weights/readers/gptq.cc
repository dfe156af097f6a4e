// GPTQ (arXiv:2210.17323) as AutoGPTQ and GPTQModel save it: w[o][i] = scales[g][o] * (q[i][o] - z[g][o]), g =
// g_idx[i].
#include <algorithm>
#include <iterator>

#include "model/weights/awq_reader.h"
#include "model/weights/gptq_tensors.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kMethod = "gptq";
constexpr std::int64_t kAllBits[] = {2, 3, 4, 8};

// The conventions of zero points: the first one stores them less one.
bool zeros_are_less_one(const JsonFields& quantization) {
  auto format = quantization.text("checkpoint_format");
  if (!format) format = quantization.text("format");
  if (!format || *format == "gptq") return true;
  if (*format == "gptq_v2") return false;
  quantization.unsupported("checkpoint_format", "'" + *format + "' is not supported, only gptq and gptq_v2");
}

// Files of AutoGPTQ before 0.5 name no method; those of others always do.
bool is_gptq(const JsonFields& quantization) {
  if (const auto method = quantization.text("quant_method")) return *method == kMethod;
  return quantization.integer("bits") && quantization.integer("group_size");
}

bool accepts(const JsonFields& quantization, const Checkpoint&) {
  if (!is_gptq(quantization)) return false;
  zeros_are_less_one(quantization);
  if (quantization.boolean("is_marlin_format").value_or(false)) {
    quantization.unsupported("is_marlin_format", "weights packed for Marlin's kernel are not supported");
  }
  const auto bits = quantization.integer("bits");
  if (bits && std::ranges::find(kAllBits, *bits) == std::end(kAllBits)) {
    quantization.unsupported("bits", fmt::format("{} is not supported, only 2, 3, 4 and 8", *bits));
  }
  if (const auto words = quantization.text("pack_dtype"); words && *words != "int32") {
    quantization.unsupported("pack_dtype", "'" + *words + "' is not supported, only int32");
  }
  return true;
}

GptqRules gptq_rules(const JsonFields& quantization) {
  GptqRules rules{.zeros_less_one = zeros_are_less_one(quantization)};
  rules.symmetric = quantization.boolean("sym").value_or(true);
  rules.ordered = quantization.boolean("desc_act").value_or(false);
  rules.bits = quantization.integer("bits").value_or(rules.bits);
  if (const auto size = quantization.integer("group_size")) rules.group_size = checked_group_size(quantization, *size);
  return rules;
}

}  // namespace

WeightReaderKind gptq() {
  return {.method = kMethod,
          .title = "GPTQ",
          .variant = "checkpoint_format",
          .version = 1,
          .accepts = accepts,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return gptq_reader(gptq_rules(quantization), checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

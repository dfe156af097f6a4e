// GPTQ (arXiv:2210.17323) as AutoGPTQ and GPTQModel save it: w[o][i] = scales[g][o] * (q[i][o] - z[g][o]), g =
// g_idx[i].
#include <algorithm>
#include <atomic>
#include <iterator>

#include "base/log.h"
#include "model/weights/gptq_weight.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kMethod = "gptq", kCodes = ".qweight", kWeight = ".weight";
constexpr std::int64_t kAllBits[] = {2, 3, 4, 8};

std::string stem_of(std::string_view name, std::string_view ending) {
  return name.ends_with(ending) ? std::string(name.substr(0, name.size() - ending.size())) : std::string();
}

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

class GptqReader final : public WeightReader {
 public:
  GptqReader(const JsonFields& quantization, const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
    rules_.zeros_less_one = zeros_are_less_one(quantization);
    rules_.symmetric = quantization.boolean("sym").value_or(true);
    rules_.ordered = quantization.boolean("desc_act").value_or(false);
    rules_.bits = quantization.integer("bits").value_or(rules_.bits);
    rules_.group_size = quantization.integer("group_size").value_or(rules_.group_size);
  }
  bool has(const std::string& name) const override {
    const std::string stem = stem_of(name, kWeight);
    return !stem.empty() && checkpoint_.find_integers(stem + std::string(kCodes)) != nullptr;
  }
  std::unique_ptr<StoredWeight> open(const std::string& name, const MatrixShape& shape) const override {
    const GptqTensors stored(checkpoint_, stem_of(name, kWeight), shape.rows, shape.cols);
    auto weight = std::make_unique<GptqWeight>(stored, rules_);
    if (weight->zeros_contradict() && !told_.test_and_set()) {
      log::info("{}: qzeros hold zero points as they are, though checkpoint_format says less one", checkpoint_.path);
    }
    return weight;
  }
  std::vector<MatrixInfo> matrices() const override {
    std::vector<MatrixInfo> all;
    for (const checkpoint::IntegerTensor& one : checkpoint_.integers) {
      const std::string stem = stem_of(one.tensor.name, kCodes);
      if (stem.empty() || one.tensor.shape.rank() != 2) continue;
      const GptqTensors stored(checkpoint_, stem, one.tensor.shape[1], gptq_columns(checkpoint_, stem, rules_));
      const auto* format = gptq_format(stored, read_zero_points(stored, rules_), read_groups(stored, rules_));
      all.push_back({stem + std::string(kWeight), format, stored.rows, stored.cols, stored.all()});
    }
    return all;
  }

 private:
  const Checkpoint& checkpoint_;
  GptqRules rules_;
  mutable std::atomic_flag told_;
};

}  // namespace

WeightReaderKind gptq() {
  return {.method = kMethod,
          .accepts = accepts,
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<GptqReader>(quantization, checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

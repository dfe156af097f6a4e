// AMD Quark: FP8, MXFP4 as modelopt has them, and uint4 in AWQ's layout (pack_method "reorder").
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "checkpoint/quote_name.h"
#include "model/weights/awq_reader.h"
#include "model/weights/float_matrix.h"
#include "model/weights/group_weight.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kQuarkMethod = "quark";
constexpr std::string_view kQuarkTypes[] = {"I32", "F8_E4M3"};  // of weights that must have scales
constexpr std::string_view kQuarkNumbers[] = {"fp8_e4m3", "fp4", "uint4"};
constexpr std::string_view kQuarkSchemes[] = {"per_tensor", "per_channel", "per_group"};

void check_quark_field(const JsonFields& weight, std::string_view field, const Dtypes& known) {
  const auto value = weight.text(field);
  if (!value || std::ranges::find(known.names, *value) != known.names.end()) return;
  weight.unsupported(field, checkpoint::quote_name(*value) + " is not supported of weights");
}

class QuarkReader final : public MatrixReader {
 public:
  explicit QuarkReader(const Checkpoint& checkpoint) : MatrixReader(checkpoint) {}

 protected:
  std::vector<std::string> modules() const override {
    std::vector<std::string> all = tensors_.modules({".weight_scale"}, kQuarkTypes);
    std::erase_if(all, [this](const std::string& module) { return !has_module(module); });
    return all;
  }
  bool has_module(const std::string& module) const override {
    return has_float_module(tensors_, module) || tensors_.has_weight(module, kQuarkTypes);
  }
  OpenedMatrix open_module(const std::string& module) const override {
    if (dtype_of(tensors_.require(module + ".weight", {"I32", "U8", "F8_E4M3"})) != "I32") {
      return open_float_module(tensors_, module, {});
    }
    return open_awq_matrix(
        tensors_,
        {&tensors_.require(module + ".weight", {"I32"}), &tensors_.require(module + ".weight_zero_point", {"I32"}),
         &tensors_.require(module + ".weight_scale", kNumberDtypes)},
        {});
  }
};

bool accepts_quark(const JsonFields& quantization, const Checkpoint&) {
  if (quantization.text("quant_method") != kQuarkMethod) return false;
  const auto exported = quantization.object("export");
  const auto pack = exported ? exported->text("pack_method") : std::nullopt;
  if (pack && *pack != "reorder") {
    exported->unsupported("pack_method", "'" + *pack + "' is not supported, only reorder");
  }
  // A list where a weight is rounded in several steps.
  if (const auto all = quantization.object("global_quant_config")) {
    if (const auto* weight = all->find("weight"); weight != nullptr && weight->is_object()) {
      const JsonFields fields(quantization.file(), *weight, "quantization_config.global_quant_config.weight.");
      check_quark_field(fields, "dtype", kQuarkNumbers);
      check_quark_field(fields, "qscheme", kQuarkSchemes);
    }
  }
  return true;
}

}  // namespace

WeightReaderKind quark() {
  return {.method = kQuarkMethod,
          .title = "Quark",
          .variant = "",
          .version = 1,
          .accepts = accepts_quark,
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<QuarkReader>(checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

// AMD Quark: FP8, MXFP4 as modelopt has them, and uint4 in AWQ's layout (pack_method "reorder").
#include "base/error.h"
#include "model/weights/awq_reader.h"
#include "model/weights/float_matrix.h"
#include "model/weights/group_weight.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;

constexpr std::string_view kQuarkMethod = "quark";

class QuarkReader final : public MatrixReader {
 public:
  explicit QuarkReader(const Checkpoint& checkpoint) : MatrixReader(checkpoint) {}

 protected:
  std::vector<std::string> modules() const override {
    std::vector<std::string> all = tensors_.stems(".weight_scale");
    std::erase_if(all, [this](const std::string& module) { return !has_module(module); });
    return all;
  }
  bool has_module(const std::string& module) const override { return has_float_module(tensors_, module); }
  OpenedMatrix open_module(const std::string& module) const override {
    if (dtype_of(tensors_.require(module + ".weight", {"I32", "U8", "F8_E4M3"})) != "I32") {
      return open_float_module(tensors_, module, {});
    }
    return open_awq_matrix(tensors_,
                           {&tensors_.require(module + ".weight", {"I32"}),
                            &tensors_.require(module + ".weight_zero_point", {"I32"}),
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
  return true;
}

}  // namespace

WeightReaderKind quark() {
  return {.method = kQuarkMethod,
          .accepts = accepts_quark,
          .open = [](const JsonFields&, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<QuarkReader>(checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

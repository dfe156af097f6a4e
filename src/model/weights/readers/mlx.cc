// MLX: weight u32 [rows, words], a row's codes in one stream; scales and biases [rows, groups]: w = scale * q + bias.
// The modes mxfp4 and mxfp8 have exponents u8 as scales and no biases. Embeddings are quantized too. The
// configuration's field "quantization" has the defaults, and under modules' names what differs there.
// The experts of a mixture are stacks [experts, rows, ...] called switch_mlp.up_proj: their matrices are listed and
// opened as experts.0.up_proj and so on.
#include <charconv>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/error.h"
#include "model/weights/float_matrix.h"
#include "model/weights/integer_matrix.h"

namespace millrace::model::weights::readers {
namespace {

using checkpoint::Checkpoint;
using checkpoint::JsonFields;
using checkpoint::RawTensor;

constexpr std::string_view kMlxStack = ".switch_mlp.";
constexpr std::int64_t kLargestMlxGroup = 1 << 30;

struct MlxSettings {
  std::int64_t bits = 4, group_size = 64;
  std::string mode = "affine";
};

MlxSettings mlx_settings(const JsonFields& fields, MlxSettings defaults) {
  defaults.bits = fields.integer("bits").value_or(defaults.bits);
  defaults.group_size = fields.integer("group_size").value_or(defaults.group_size);
  defaults.mode = fields.text("mode").value_or(defaults.mode);
  if (defaults.mode != "affine" && defaults.mode != "mxfp4" && defaults.mode != "mxfp8" && defaults.mode != "nvfp4") {
    fields.unsupported("mode", "'" + defaults.mode + "' is not supported, only affine, mxfp4, mxfp8 and nvfp4");
  }
  const bool known = defaults.bits == 2 || defaults.bits == 3 || defaults.bits == 4 || defaults.bits == 5 ||
                     defaults.bits == 6 || defaults.bits == 8;
  if (!known) fields.unsupported("bits", fmt::format("{} is not supported, only 2, 3, 4, 5, 6 and 8", defaults.bits));
  if (defaults.group_size < 1 || defaults.group_size > kLargestMlxGroup)
    fields.unsupported("group_size", fmt::format("{}; 1 or more expected", defaults.group_size));
  return defaults;
}

// Tensors of stacked experts by name, as matrices [experts * rows, columns].
using FlatTensors = std::map<std::string, RawTensor>;

FlatTensors flat_stacks(const Checkpoint& checkpoint) {
  FlatTensors flat;
  const auto add = [&](const RawTensor& tensor) {
    if (tensor.shape.rank() != 3 || tensor.name.find(kMlxStack) == std::string::npos) return;
    RawTensor& matrix = flat.emplace(tensor.name, tensor).first->second;
    matrix.shape = Shape{tensor.shape[0] * tensor.shape[1], tensor.shape[2]};
  };
  for (const RawTensor& tensor : checkpoint.tensors) add(tensor);
  for (const checkpoint::IntegerTensor& one : checkpoint.integers) add(one.tensor);
  return flat;
}

// All experts of one projection.
struct MlxStack {
  std::shared_ptr<const FlatTensors> tensors;  // which the matrix points to
  OpenedMatrix matrix;
};

class ExpertRows final : public StoredWeight {
 public:
  ExpertRows(std::shared_ptr<const MlxStack> stack, std::int64_t first) : stack_(std::move(stack)), first_(first) {
    const StoredWeight& all = *stack_->matrix.weight;
    format = all.format;
    factors = all.factors;
    tensors = all.tensors;
    coding = all.coding;
  }
  void read(std::int64_t first, std::int64_t count, std::span<std::byte> out) const override {
    stack_->matrix.weight->read(first_ + first, count, out);
  }
  std::vector<TensorRange> ranges(std::int64_t first, std::int64_t count) const override {
    return stack_->matrix.weight->ranges(first_ + first, count);
  }

 private:
  std::shared_ptr<const MlxStack> stack_;
  std::int64_t first_;
};

class MlxReader final : public MatrixReader {
 public:
  MlxReader(const JsonFields& quantization, const Checkpoint& checkpoint)
      : MatrixReader(checkpoint),
        fields_(quantization),
        defaults_(mlx_settings(quantization, {})),
        flat_(std::make_shared<const FlatTensors>(flat_stacks(checkpoint))) {}

 protected:
  std::vector<std::string> modules() const override {
    std::vector<std::string> all;
    for (const std::string& module : tensors_.modules({".scales"}, {"U32"})) {
      if (has_module(module)) all.push_back(module);
      const std::size_t at = module.find(kMlxStack);
      for (std::int64_t e = 0; e < experts_of(module); ++e) {
        all.push_back(module.substr(0, at) + fmt::format(".experts.{}.", e) + module.substr(at + kMlxStack.size()));
      }
    }
    return all;
  }
  bool has_module(const std::string& module) const override {
    if (tensors_.has_weight(module, {"U32"}) || expert_of(module)) return true;
    return tensors_.find(module + ".scales") != nullptr && tensors_.find(module + ".weight") != nullptr &&
           experts_of(module) == 0;
  }
  OpenedMatrix open_module(const std::string& module) const override {
    const auto expert = expert_of(module);
    if (!expert) return open_matrix(module);
    const std::int64_t experts = experts_of(expert->stack);
    std::shared_ptr<const MlxStack> stack = open_stack(expert->stack);
    const std::int64_t rows = stack->matrix.rows / experts, cols = stack->matrix.cols;
    return {rows, cols, std::make_unique<ExpertRows>(std::move(stack), expert->number * rows)};
  }

 private:
  struct Expert {
    std::string stack;
    std::int64_t number;
  };
  // The stack that has "mlp.experts.3.up_proj": "mlp.switch_mlp.up_proj".
  std::optional<Expert> expert_of(const std::string& module) const {
    constexpr std::string_view kExperts = ".experts.";
    const std::size_t at = module.find(kExperts);
    if (at == std::string::npos) return std::nullopt;
    std::int64_t number = -1;
    const char *first = module.data() + at + kExperts.size(), *last = module.data() + module.size();
    const auto [end, error] = std::from_chars(first, last, number);
    if (error != std::errc() || end == last || *end != '.' || number < 0) return std::nullopt;
    Expert expert{module.substr(0, at).append(kMlxStack).append(end + 1, last), number};
    return number < experts_of(expert.stack) ? std::optional(std::move(expert)) : std::nullopt;
  }
  // 0: no stack.
  std::int64_t experts_of(const std::string& module) const {
    const std::string codes = module + ".weight";
    return flat_->contains(codes) ? tensors_.find(codes)->shape[0] : 0;
  }
  // Kept as long as one of its experts is.
  std::shared_ptr<const MlxStack> open_stack(const std::string& module) const {
    const std::lock_guard lock(mutex_);
    std::weak_ptr<const MlxStack>& known = stacks_[module];
    std::shared_ptr<const MlxStack> stack = known.lock();
    if (stack) return stack;
    stack = std::make_shared<const MlxStack>(MlxStack{flat_, open_matrix(module)});
    known = stack;
    return stack;
  }

  const RawTensor& require(const std::string& name, const Dtypes& dtypes) const {
    const RawTensor& tensor = tensors_.require(name, dtypes);
    const auto flat = flat_->find(name);
    const RawTensor& matrix = flat == flat_->end() ? tensor : flat->second;
    if (matrix.shape.rank() == 2) return matrix;
    tensors_.fail(name, fmt::format("shape {}: expected two dimensions", matrix.shape.to_string()));
  }
  OpenedMatrix open_matrix(const std::string& module) const {
    const MlxSettings settings = settings_of(module);
    const RawTensor& codes = require(module + ".weight", {"U32"});
    if (settings.mode != "affine") return open_floats(module, codes, settings);
    const RawTensor& scales = require(module + ".scales", kNumberDtypes);
    const std::int64_t rows = codes.shape[0], cols = codes.shape[1] * 32 / settings.bits;
    if (codes.shape[1] * 32 % settings.bits != 0 || cols % settings.group_size != 0) {
      tensors_.fail(codes.name, fmt::format("shape {}: no whole groups of {} (group_size) codes of {} bits",
                                            codes.shape.to_string(), settings.group_size, settings.bits));
    }
    if (const Shape expected{rows, cols / settings.group_size}; scales.shape != expected) {
      tensors_.fail(scales.name,
                    fmt::format("shape {}: expected {}, for groups of {} codes of {} bits", scales.shape.to_string(),
                                expected.to_string(), settings.group_size, settings.bits));
    }
    return open_integers(tensors_, {.rows = rows,
                                    .cols = cols,
                                    .codes = &codes,
                                    .scales = &scales,
                                    .order = {.bits = static_cast<int>(settings.bits)},
                                    .minima = &require(module + ".biases", kNumberDtypes),
                                    .others = {}});
  }
  OpenedMatrix open_floats(const std::string& module, const RawTensor& codes, const MlxSettings& settings) const {
    const Float8Tensors stored{&codes, &require(module + ".scales", {"U8"}), {}, {}};
    if (settings.mode == "mxfp4") return open_mxfp4(tensors_, stored);
    if (settings.mode == "mxfp8") return open_float8(tensors_, stored);
    return open_nvfp4(tensors_, stored, 1.0f);
  }
  MlxSettings settings_of(const std::string& module) const {
    const nlohmann::json* own = fields_.find(module);
    if (own != nullptr && own->is_boolean() && !own->get<bool>()) {
      fields_.unsupported(module, "false: not quantized, but the file has codes of it");
    }
    if (own == nullptr || !own->is_object()) return defaults_;
    return mlx_settings(JsonFields(fields_.file(), *own, "quantization." + module + "."), defaults_);
  }

  JsonFields fields_;
  MlxSettings defaults_;
  std::shared_ptr<const FlatTensors> flat_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::weak_ptr<const MlxStack>> stacks_;
};

}  // namespace

WeightReaderKind mlx() {
  return {.method = checkpoint::kMlxMethod,
          .title = "MLX",
          .variant = "mode",
          .version = 1,
          .accepts =
              [](const JsonFields& quantization, const Checkpoint&) {
                if (quantization.text("quant_method") != checkpoint::kMlxMethod) return false;
                mlx_settings(quantization, {});
                return true;
              },
          .open = [](const JsonFields& quantization, const Checkpoint& checkpoint) -> std::unique_ptr<WeightReader> {
            return std::make_unique<MlxReader>(quantization, checkpoint);
          }};
}

}  // namespace millrace::model::weights::readers

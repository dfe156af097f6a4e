#include "model/adapters/merge_formats.h"

#include <algorithm>
#include <set>
#include <utility>

#include "checkpoint/gguf_file_type.h"
#include "model/block.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using quant::QuantFormat;

constexpr double kOuterBits = 8.0;

// The tensors of the layers that are multiplied as any weight, by their names in the file.
std::set<std::string> matrices_of(const Checkpoint& base, const ModelSpec& spec) {
  std::set<std::string> names;
  const WeightLoader files(base, spec);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const HasTensor has = files.in_layer(layer);
    for (const BlockSpec& block : spec.layers[i].blocks) {
      for (const BlockWeight& weight : block_weights(block, spec, has)) {
        if (weight.cols == 0 || weight.exact) continue;
        const std::string name = spec.names.in_file(WeightLoader::layer_name(weight.tensor(), layer));
        for (std::int64_t e = 0; e < std::max<std::int64_t>(1, weight.experts); ++e) {
          names.insert(WeightLoader::expert_name(name, e));
        }
      }
    }
  }
  return names;
}

// The format, or one of 8 bits, if rows are whole blocks of it; else null.
const QuantFormat* fitting_rows(const QuantFormat& type, std::int64_t cols) {
  if (cols % type.block_values == 0) return &type;
  const QuantFormat* other = quant::find_format("q8_0");
  return cols % other->block_values == 0 ? other : nullptr;
}

}  // namespace

TensorFormats formats_of_type(const Checkpoint& base, const ModelSpec& spec, const QuantFormat& type) {
  const bool gguf = base.container == Checkpoint::Container::kGguf;
  const bool held = gguf ? type.gguf_type >= 0 : type.name == "f32" || type.name == "f16" || type.name == "bf16";
  if (!held || type.pack == nullptr) {
    throw_load_error(ErrorCode::kInvalidArgument, "type", "type is '{}': {}", type.name,
                     type.pack == nullptr ? "nothing here writes it"
                     : gguf               ? "GGUF files do not hold it"
                                          : "a base in safetensors is written as f32, f16 or bf16");
  }
  if (!gguf) {
    return [&type](const checkpoint::RawTensor& tensor) { return tensor.format->block_values == 1 ? &type : nullptr; };
  }
  const QuantFormat* outer = type.bits_per_value() < kOuterBits ? quant::find_format("q8_0") : &type;
  const std::string embedding = spec.names.embedding + ".weight", head = spec.names.head + ".weight";
  return [&type, outer, embedding, head, matrices = matrices_of(base, spec)](const checkpoint::RawTensor& tensor) {
    const std::int64_t cols = tensor.shape.back();
    if (tensor.name == embedding || tensor.name == head) return fitting_rows(*outer, cols);
    return matrices.contains(tensor.name) ? fitting_rows(type, cols) : nullptr;
  };
}

checkpoint::CopyChanges changes_of_type(const Checkpoint& base, const QuantFormat& type) {
  checkpoint::CopyChanges changes;
  if (base.container == Checkpoint::Container::kGguf) {
    changes.metadata.emplace_back("general.file_type", checkpoint::gguf_file_type(type.name));
    changes.metadata.emplace_back("general.quantization_version", std::uint32_t{2});
    return changes;
  }
  const std::string name = type.name == "f32" ? "float32" : type.name == "f16" ? "float16" : "bfloat16";
  changes.config[base.config.json.contains("dtype") ? "dtype" : "torch_dtype"] = name;
  return changes;
}

void leave_out_quantization(checkpoint::CopyChanges& changes) {
  changes.config[std::string(checkpoint::kQuantizationField)] = nullptr;
  changes.config[std::string(checkpoint::kMlxField)] = nullptr;
  for (const std::string_view file : {checkpoint::kQuantizationFile, checkpoint::kModelOptFile}) {
    changes.left_out.emplace(file);
  }
}

}  // namespace millrace::model

#include "model/make_spec.h"

#include <algorithm>
#include <vector>

#include "model/block.h"
#include "model/file_names.h"
#include "model/model_family.h"
#include "model/nearest_family.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

constexpr std::uint64_t kCompared = 1 << 20;  // bytes at a time

// Whether the file has a head beside the embedding, and with other values: then the two are not tied, whatever the
// configuration says, as in Transformers 5.
bool has_own_head(const Checkpoint& checkpoint, const WeightNames& names) {
  const auto find = [&](const std::string& name) { return checkpoint.find(names.in_file(name) + ".weight"); };
  const RawTensor *head = find(names.head), *embedding = find(names.embedding);
  if (head == nullptr || embedding == nullptr || head->shape != embedding->shape) return head != nullptr;
  if (head->file == embedding->file && head->offset == embedding->offset) return false;
  if (head->format != embedding->format) return true;
  std::vector<std::byte> a, b;
  for (std::uint64_t at = 0; at < head->bytes; at += kCompared) {
    a.resize(std::min(kCompared, head->bytes - at));
    b.resize(a.size());
    checkpoint.read(*head, at, a).or_throw();
    checkpoint.read(*embedding, at, b).or_throw();
    if (a != b) return true;
  }
  return false;
}

// Whether a GGUF file has rows in another order than the files it was made from, and does not say in which these were.
bool is_reordered(const Checkpoint& checkpoint, const ModelConfig& config, const ModelFamily& family) {
  const std::string& architecture = checkpoint.config.architecture;
  const bool sections = checkpoint.config.metadata.find(architecture + ".rope.dimension_sections") != nullptr;
  return (family.name == "falcon" && config.n_kv_heads > 1) || (family.name == "glm4" && sections) ||
         family.name == "cohere2_moe";
}

// Families whose safetensors do not say how a GGUF file of the same model has rows and layers.
constexpr std::string_view kOtherwiseInGguf[] = {"deci", "falcon", "glm4", "granite_swa", "mimo_v2_flash", "refact"};

}  // namespace

Result<ModelSpec> make_spec(const Checkpoint& checkpoint, const backend::Limits& limits) try {
  const ModelFamily* family = find_family(checkpoint.config);
  if (family == nullptr) return unknown_architecture(checkpoint);
  if (const std::string_view why = refusal(checkpoint.config); !why.empty()) {
    return make_error(ErrorCode::kUnsupported, "architecture", "{}: {}: {}", checkpoint.path,
                      checkpoint.config.architecture, why);
  }
  checkpoint::ConfigView view = view_as(*family, checkpoint.config);
  ModelConfig config = read_shared_config(view, family->defaults);
  static_cast<void>(find_reader(checkpoint));
  complete_from_tensors(checkpoint, config);
  ModelSpec spec = family->spec(view, config);
  view.check_unread(known_fields());
  spec.unread_fields = view.unread();
  spec.family = family->name;
  find_file_names(checkpoint, spec.names);
  if (spec.tied_head && has_own_head(checkpoint, spec.names)) spec.tied_head = false;
  if (auto checked = check_dimensions(spec, limits); !checked) return checked.error();
  return spec;
} catch (const LoadError& failure) {
  return failure.error();
}

ModelSpec make_module_spec(const Checkpoint& checkpoint, bool gguf) {
  if (checkpoint.config.gguf == gguf) return make_spec(checkpoint).or_throw();
  const ModelFamily* family = find_family(checkpoint.config);
  CHECK(family != nullptr);
  try {
    checkpoint::ConfigView view = view_as(*family, checkpoint.config);
    ModelConfig config = read_shared_config(view, family->defaults);
    complete_from_tensors(checkpoint, config);
    view.spell_as(gguf);
    ModelSpec spec = family->spec(view, config);
    spec.family = family->name;
    const bool otherwise = gguf ? std::ranges::find(kOtherwiseInGguf, family->name) != std::end(kOtherwiseInGguf)
                                : is_reordered(checkpoint, config, *family);
    if (otherwise) {
      throw_load_error(ErrorCode::kUnsupported, "lora", "rows of its GGUF files are in an order of their own");
    }
    return spec;
  } catch (const LoadError& failure) {
    throw_load_error(ErrorCode::kUnsupported, "lora",
                     "{}: what {}adapters call the weights of a {} model is not known: {}", checkpoint.path,
                     gguf ? "GGUF " : "", family->name, failure.error().message);
  }
}

}  // namespace millrace::model

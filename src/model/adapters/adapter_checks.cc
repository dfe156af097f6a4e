#include "model/adapters/adapter_checks.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace millrace::model {
namespace {

constexpr const char *kWholeTensor = ".weight", *kCopyOfBase = ".base_layer.weight";

}  // namespace

void check_servable(const AdapterFiles& files, const ModelSpec& spec) {
  for (const checkpoint::RawTensor& tensor : files.tensors.tensors) {
    const bool vector = tensor.shape.rank() == 1 && tensor.name.ends_with(kWholeTensor);
    if (!vector) continue;
    throw_load_error(ErrorCode::kUnsupported, tensor.name,
                     "{}: tensor '{}' is a vector, as of a norm, of which requests have none of their own: merge the "
                     "adapter into the model's safetensors with `millrace lora merge`",
                     files.path, tensor.name);
  }
  const std::string &embedding = spec.names.embedding, &head = spec.names.head;
  for (const std::string& tensor :
       {embedding + kWholeTensor, embedding + kCopyOfBase, head + kWholeTensor, head + kCopyOfBase}) {
    const std::string name = spec.names.in_file(tensor);
    const checkpoint::RawTensor* whole = files.tensors.find(name);
    if (whole == nullptr || whole->shape.rank() != 2 || whole->shape[0] <= spec.vocab_size) continue;
    throw_load_error(ErrorCode::kUnsupported, name,
                     "{}: tensor '{}' is {}, of more tokens than the model's {}: merge the adapter into the model's "
                     "safetensors with `millrace lora merge`",
                     files.path, name, whole->shape.to_string(), spec.vocab_size);
  }
}

void check_named(const AdapterFiles& files) {
  const auto need = [&](const std::string& field, const std::string& what, const std::string& end) {
    const auto is_it = [&](const checkpoint::RawTensor& tensor) {
      return tensor.name == end || tensor.name.ends_with("." + end);
    };
    if (std::ranges::any_of(files.tensors.tensors, is_it)) return;
    throw_load_error(ErrorCode::kBadFile, field, "{}: {} names {}, of which there is no tensor '{}'", files.path, field,
                     what, end);
  };
  for (const std::string& module : files.config.modules_to_save()) {
    need("modules_to_save", "'" + module + "'", module + kWholeTensor);
  }
  if (files.config.has_token_indices()) {
    need("trainable_token_indices", "tokens", "token_adapter.trainable_tokens_delta");
  }
}

}  // namespace millrace::model

#include "model/adapters/reshaped_base.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "base/error.h"
#include "model/adapters/adapter_spec.h"
#include "model/adapters/open_adapter.h"
#include "model/block.h"
#include "model/make_spec.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

constexpr const char* kReplication = "layer_replication";
constexpr const char* kLayerCounts[] = {"num_hidden_layers", "n_layer", "n_layers", "num_layers",
                                        "num_transformer_layers"};
constexpr const char* kVocabularySizes[] = {"vocab_size", "padded_vocab_size"};

void require_safetensors(const Checkpoint& base, const std::string& field) {
  if (!base.config.gguf) return;
  throw_load_error(ErrorCode::kUnsupported, field,
                   "{}: a GGUF file gets no further layers or tokens: merge the adapter into the safetensors of it",
                   base.path);
}

// The base's layer for each of the new ones.
std::vector<std::int64_t> sources_of(const LayerReplication& layers, const Checkpoint& base, std::int64_t count) {
  std::vector<std::int64_t> sources;
  for (const auto& [first, end] : layers) {
    if (end > count) {
      throw_load_error(ErrorCode::kBadFile, kReplication, "{}: layer_replication has layers [{}, {}): the base has {}",
                       base.path, first, end, count);
    }
    for (std::int64_t layer = first; layer < end; ++layer) sources.push_back(layer);
  }
  return sources;
}

// What stands in front of the layers' numbers in the file: "model.layers.".
std::string layer_prefix(const ModelSpec& spec) {
  const HasTensor none = [](const std::string&) { return false; };
  for (const BlockWeight& weight : block_weights(spec.layers.front().blocks.front(), spec, none)) {
    const std::size_t at = weight.name.find("{}");
    if (at != std::string::npos) return spec.names.in_file(weight.name.substr(0, at));
  }
  CHECK(false && "a layer has weights with its number");
  __builtin_unreachable();
}

// Each tensor of layer sources[i] as one of layer i; the others stay.
template <typename Tensor>
std::vector<Tensor> replicated(const std::vector<Tensor>& tensors, const std::string& prefix,
                               const std::vector<std::int64_t>& sources,
                               const std::function<std::string&(Tensor&)>& name) {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) {
    Tensor copy = tensor;
    if (!name(copy).starts_with(prefix)) all.push_back(copy);
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const std::string theirs = prefix + std::to_string(sources[i]) + ".", ours = prefix + std::to_string(i) + ".";
    for (const Tensor& tensor : tensors) {
      Tensor copy = tensor;
      if (!name(copy).starts_with(theirs)) continue;
      name(copy) = ours + name(copy).substr(theirs.size());
      all.push_back(std::move(copy));
    }
  }
  return all;
}

// Lists with a value for each layer.
bool is_by_layer(const std::string& field, const nlohmann::json& value, std::size_t layers) {
  return value.is_array() && value.size() == layers &&
         (field.find("layer") != std::string::npos || field.starts_with("num_") || field == "intermediate_size");
}

void replicate_config(nlohmann::json& config, nlohmann::json& changes, std::size_t layers,
                      const std::vector<std::int64_t>& sources) {
  for (const char* field : kLayerCounts) {
    if (config.contains(field)) config[field] = changes[field] = sources.size();
  }
  for (auto& [field, value] : config.items()) {
    if (!is_by_layer(field, value, layers)) continue;
    nlohmann::json list = nlohmann::json::array();
    for (const std::int64_t source : sources) list.push_back(value[static_cast<std::size_t>(source)]);
    value = changes[field] = std::move(list);
  }
}

void replicate_layers(ReshapedBase& base) {
  Checkpoint& model = *base.checkpoint;
  require_safetensors(model, kReplication);
  const ModelSpec before = make_spec(model).or_throw();
  const std::vector<std::int64_t> sources = sources_of(base.layers, model, std::ssize(before.layers));
  const std::string prefix = layer_prefix(before);
  model.tensors = replicated<RawTensor>(model.tensors, prefix, sources, [](RawTensor& t) -> auto& { return t.name; });
  model.integers = replicated<checkpoint::IntegerTensor>(
      model.integers, prefix, sources, [](checkpoint::IntegerTensor& t) -> auto& { return t.tensor.name; });
  checkpoint::index_names(model);
  replicate_config(model.config.json, base.config, before.layers.size(), sources);
  const ModelSpec after = make_spec(model).or_throw();
  CHECK_EQ(after.layers.size(), sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const LayerSpec &ours = after.layers[i], &theirs = before.layers[static_cast<std::size_t>(sources[i])];
    if (std::ranges::equal(ours.blocks, theirs.blocks, {}, block_key, block_key) && ours.has_weights()) continue;
    throw_load_error(ErrorCode::kUnsupported, kReplication,
                     "{}: layer_replication makes layer {} of layer {}, which computes otherwise by its number",
                     model.path, i, sources[i]);
  }
}

// A matrix of a file with further rows, which lie in memory.
class LongerMatrix final : public RandomAccessFile {
 public:
  LongerMatrix(std::shared_ptr<const RandomAccessFile> file, const RawTensor& tensor, std::vector<std::byte> more)
      : file_(std::move(file)), offset_(tensor.offset), bytes_(tensor.bytes), more_(std::move(more)) {}
  std::uint64_t size() const noexcept override { return bytes_ + more_.size(); }
  Result<void> read(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size() || out.size() > size() - offset) {
      return make_error(ErrorCode::kBadFile, path(), "{}: a matrix ends at {}, {} bytes expected at {}", path(), size(),
                        out.size(), offset);
    }
    const std::size_t own = offset < bytes_ ? std::min<std::uint64_t>(out.size(), bytes_ - offset) : 0;
    if (own > 0) {
      if (auto read = file_->read(offset_ + offset, out.first(own)); !read) return read;
    }
    if (own < out.size()) std::memcpy(out.data() + own, more_.data() + (offset + own - bytes_), out.size() - own);
    return {};
  }
  const std::string& path() const noexcept override { return file_->path(); }
  std::int64_t modified() const noexcept override { return file_->modified(); }

 private:
  const std::shared_ptr<const RandomAccessFile> file_;
  const std::uint64_t offset_, bytes_;
  const std::vector<std::byte> more_;
};

// Rows from `first` on, in another format.
std::vector<std::byte> rows_from(const Checkpoint& files, const RawTensor& tensor, std::int64_t first,
                                 const quant::QuantFormat& format) {
  const std::int64_t cols = tensor.shape[1], rows = tensor.shape[0] - first;
  const std::size_t bytes = tensor.format->row_bytes(cols);
  std::vector<std::byte> stored(bytes * static_cast<std::size_t>(rows));
  files.read(tensor, bytes * static_cast<std::size_t>(first), stored).or_throw();
  std::vector<float> values(static_cast<std::size_t>(rows * cols));
  tensor.format->unpack(stored.data(), values);
  std::vector<std::byte> packed(format.row_bytes(cols) * static_cast<std::size_t>(rows));
  format.pack(values, packed.data());
  return packed;
}

// The copy that PEFT keeps of the base's matrix, or the adapter's own; null if there is none.
const RawTensor* whole_matrix(const AdapterFiles& files, const std::string& module) {
  for (const char* end : {".base_layer.weight", ".weight"}) {
    const RawTensor* tensor = files.tensors.find(module + end);
    if (tensor != nullptr && tensor->shape.rank() == 2) return tensor;
  }
  return nullptr;
}

void append_rows(Checkpoint& model, const std::string& tensor_name, const AdapterFiles& files, const RawTensor& whole) {
  RawTensor& tensor = model.tensors[model.tensor_index.at(tensor_name)];
  if (whole.shape[1] != tensor.shape[1] || tensor.format->block_values != 1 || whole.format->block_values != 1) {
    throw_load_error(ErrorCode::kBadFile, whole.name, "{}: tensor '{}' is {}: rows of {} expected, as the base's",
                     files.path, whole.name, whole.shape.to_string(), tensor.shape[1]);
  }
  auto file = std::make_unique<LongerMatrix>(model.files[static_cast<std::size_t>(tensor.file)], tensor,
                                             rows_from(files.tensors, whole, tensor.shape[0], *tensor.format));
  tensor.shape = Shape{whole.shape[0], tensor.shape[1]};
  tensor.file = static_cast<int>(model.files.size());
  tensor.offset = 0;
  tensor.bytes = file->size();
  model.files.push_back(std::move(file));
}

void grow_vocabulary(ReshapedBase& base, const AdapterFiles& files, const std::string& directory) {
  Checkpoint& model = *base.checkpoint;
  const ModelSpec spec = make_spec(model).or_throw();
  const WeightNames theirs = make_module_spec(model, !files.gguf_architecture.empty()).names;
  const RawTensor *embedding = whole_matrix(files, theirs.embedding), *head = whole_matrix(files, theirs.head);
  const std::int64_t rows = embedding != nullptr ? embedding->shape[0] : head != nullptr ? head->shape[0] : 0;
  if (rows <= spec.vocab_size) return;
  require_safetensors(model, "vocab_size");
  const std::string own_head = spec.names.in_file(spec.names.head) + ".weight";
  const bool has_head = model.find(own_head) != nullptr;
  const bool both = embedding != nullptr && (!has_head || (head != nullptr && head->shape[0] == rows));
  if (!both) {
    throw_load_error(ErrorCode::kBadFile, "vocab_size",
                     "{}: has {} tokens where the base has {}, but not both embedding and head with as many rows",
                     files.path, rows, spec.vocab_size);
  }
  append_rows(model, spec.names.in_file(spec.names.embedding) + ".weight", files, *embedding);
  if (has_head) append_rows(model, own_head, files, *head);
  for (const char* field : kVocabularySizes) {
    if (model.config.json.contains(field)) model.config.json[field] = base.config[field] = rows;
  }
  base.tokenizer = directory;
}

}  // namespace

ReshapedBase reshaped_base(Env& env, std::unique_ptr<Checkpoint> base, std::span<const ScaledAdapter> adapters) {
  const std::unique_ptr<const Checkpoint> original = std::move(base);
  ReshapedBase reshaped{.checkpoint = std::make_unique<Checkpoint>(*original)};
  bool first = true;
  for (const ScaledAdapter& one : adapters) {
    const AdapterFiles files = open_adapter(env, one.path, [&] { return adapter_modules(*original); });
    const LayerReplication& layers = files.config.layer_replication();
    if (!first && layers != reshaped.layers) {
      throw_load_error(ErrorCode::kBadFile, kReplication, "{}: layer_replication is not that of {}", one.path,
                       adapters.front().path);
    }
    if (std::exchange(first, false) && !layers.empty()) {
      reshaped.layers = layers;
      replicate_layers(reshaped);
    }
    grow_vocabulary(reshaped, files, adapter_directory(env, one.path));
  }
  return reshaped;
}

}  // namespace millrace::model

#include "model/adapters/load_adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "model/adapters/adapter_checks.h"
#include "model/adapters/adapter_names.h"
#include "model/adapters/adapter_reading.h"
#include "model/adapters/adapter_spec.h"
#include "model/adapters/open_adapter.h"
#include "model/ranks/rank_leader.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

// Finds what stands in front of the model's names where the adapter was made of a larger whole.
void find_prefix(const checkpoint::Checkpoint& tensors, const std::string& layers, WeightNames& names) {
  const auto has = [&](const std::string& beginning) {
    return std::ranges::any_of(tensors.tensors, [&](const auto& tensor) { return tensor.name.starts_with(beginning); });
  };
  if (has(names.in_file(layers))) return;
  const std::string ours = layers.substr(0, layers.find('.') + 1), rest = layers.substr(ours.size());
  for (const std::string& theirs :
       {ours, std::string(), std::string("model.language_model."), "language_model." + ours, "model." + ours,
        "model.language_model." + ours, std::string("model.text_model.")}) {
    if (!has(theirs + rest)) continue;
    names.renamed.insert(names.renamed.begin(), {ours, theirs});
    return;
  }
}

// The weights of a product as adapters call them; null for one that is not among them, or of another size there.
std::vector<const BlockWeight*> stacked_in(const Product& product, const std::vector<BlockWeight>& weights) {
  std::vector<const BlockWeight*> stacked;
  for (std::size_t i = 0; i < product.roles.size(); ++i) {
    const auto found = std::ranges::find(weights, product.roles[i], &BlockWeight::role);
    const bool fits =
        found != weights.end() && std::max<std::int64_t>(1, found->experts) == product.weight->experts() &&
        found->rows + found->zero_rows == product.rows[i] && found->cols + found->zero_cols == product.weight->k();
    stacked.push_back(fits ? &*found : nullptr);
  }
  return stacked;
}

void read_layers(const Transformer& model, const ModelSpec& spec, AdapterReading& reading) {
  const LayerStack& layers = model.layers();
  const RowRange own = model.part().layers(layers.size());
  std::set<std::int64_t> read;
  for (std::int64_t own_layer = own.first; own_layer < std::min(std::ssize(spec.layers), own.last); ++own_layer) {
    const LayerSpec& of_spec = spec.layers[static_cast<std::size_t>(own_layer)];
    // A layer with the weights of an earlier one has its adapters too: a stage has them once more, of which one counts.
    const std::int64_t layer = of_spec.has_weights() ? own_layer : of_spec.weights_of;
    const AdapterSummary before = reading.summary;
    const HasTensor has = [&](const std::string& pattern) {
      return reading.has(WeightLoader::layer_name(pattern, layer));
    };
    for (std::size_t b = 0; b < of_spec.blocks.size(); ++b) {
      const std::vector<BlockWeight> weights = block_weights(of_spec.blocks[b], spec, has);
      for (const Product* product : layers.products(own_layer, b)) {
        reading.add(*product, stacked_in(*product, weights), layer);
      }
    }
    if (!read.insert(layer).second) reading.summary = before;
  }
  for (std::int64_t layer = 0; layer < std::ssize(spec.layers); ++layer) {
    if (!read.contains(layer)) reading.pass_layer(layer, *model.linears().front());
  }
}

// In place of KeptMatrices::key() where no rank reads all: of the files' own numbers, and of what they are kept as.
std::string key_of_files(const AdapterFiles& files, const AdapterOptions& options) {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  Sha256 digest;
  const auto note = [&](std::string_view text) { digest.update(std::as_bytes(std::span(text))); };
  note(fmt::format("type {} invocation {}\n", static_cast<int>(options.type),
                   fmt::join(files.config.invocation_tokens(), " ")));
  std::vector<std::byte> bytes;
  for (const checkpoint::RawTensor& tensor : files.tensors.tensors) {
    std::string_view module = tensor.name;
    for (const std::string_view end : {kMatrixA, kEmbeddingA}) {
      if (module.ends_with(end)) module.remove_suffix(end.size());
    }
    note(fmt::format("{} {} {} {}\n", tensor.name, tensor.format != nullptr ? tensor.format->name : "",
                     tensor.shape.to_string(),
                     module.size() == tensor.name.size() ? 0.0 : files.config.scale(std::string(module))));
    for (std::uint64_t at = 0; at < tensor.bytes; at += kAtOnce) {
      bytes.resize(std::min(kAtOnce, tensor.bytes - at));
      files.tensors.read(tensor, at, bytes).or_throw();
      digest.update(bytes);
    }
  }
  return hex(digest.finish());
}

}  // namespace

std::shared_ptr<const Adapter> AdapterLoader::load(Env& env, const std::string& path,
                                                   const AdapterOptions& options) const {
  if (RankLeader* leader = model_.leader(); leader != nullptr) leader->foresee(path, options);
  return load(open(env, path), options);
}

AdapterFiles AdapterLoader::open(Env& env, const std::string& path) const {
  return open_adapter(env, path, [&] { return adapter_modules(checkpoint_); });
}

std::shared_ptr<const Adapter> AdapterLoader::load(const AdapterFiles& files, const AdapterOptions& options) const {
  if (files.config.layer_replication() != options.layers) {
    throw_load_error(ErrorCode::kUnsupported, "layer_replication",
                     "{}: layer_replication is set, which gives the model other layers: merge the adapter with "
                     "`millrace lora merge`",
                     files.tensors.config.file);
  }
  ModelSpec spec = adapter_spec(checkpoint_, files);
  const LayerStack& layers = model_.layers();
  const RankShards& part = model_.part();
  if (std::ssize(spec.layers) > layers.size()) spec.layers.resize(static_cast<std::size_t>(layers.size()));
  const HasTensor none = [](const std::string&) { return false; };
  for (const BlockWeight& weight : block_weights(spec.layers.front().blocks.front(), spec, none)) {
    if (const std::size_t at = weight.name.find("{}"); at != std::string::npos) {
      find_prefix(files.tensors, weight.name.substr(0, at), spec.names);
      break;
    }
  }
  const ModelSpec whole = spec;
  spec.transposed_linears = false;
  check_servable(files, spec);
  AdapterReading reading(files, spec, whole, options, model_.vocabulary_rows());
  read_layers(model_, spec, reading);
  const bool tied = model_.spec().tied_head;
  if (part.is_first()) reading.add_embedding(*model_.outer(kEmbeddingPlace));
  if (part.is_last()) reading.add_head(*model_.outer(kHeadPlace), tied);
  if (part.stages() > 1) reading.pass_outer();
  WeightLoader base(checkpoint_, model_.spec());
  const WeightNames& own = model_.spec().names;
  reading.pass_copy(spec.names.embedding, base, own.embedding + ".weight");
  reading.pass_copy(spec.names.head, base, (tied ? own.embedding : own.head) + ".weight");
  reading.check_all_used();
  check_named(files);
  if (reading.summary.modules == 0 && (part.stages() == 1 || files.tensors.tensors.empty())) {
    throw_load_error(ErrorCode::kBadFile, files.path, "{}: has no weights", files.path);
  }
  const std::vector<std::int32_t>& invocation = files.config.invocation_tokens();
  if (!invocation.empty() && reading.changes_embedding) {
    throw_load_error(ErrorCode::kUnsupported, spec.names.embedding,
                     "{}: module '{}': activated LoRA of the embedding is not supported", files.path,
                     spec.names.embedding);
  }
  if (!invocation.empty()) reading.kept.note(fmt::format("invocation {}", fmt::join(invocation, " ")));
  auto packed = backend_.make_low_ranks(std::move(reading.sources), model_.precision());
  std::vector<std::unique_ptr<backend::LowRank>> by_place(static_cast<std::size_t>(layers.places()));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    by_place[static_cast<std::size_t>(reading.places[i])] = std::move(packed[i]);
  }
  for (backend::RowDeltaSource& source : reading.of_embedding) {
    by_place[kEmbeddingPlace] = backend_.make_row_delta(std::move(source));
  }
  reading.summary.error = reading.kept.error();
  reading.summary.invocation_tokens = invocation;
  const std::string key = part.stages() > 1 ? key_of_files(files, options) : reading.kept.key();
  return std::make_shared<const Adapter>(key, reading.summary, std::move(by_place), AdapterOrigin{files.path, options});
}

}  // namespace millrace::model

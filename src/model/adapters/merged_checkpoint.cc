#include "model/adapters/merged_checkpoint.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/sha256.h"
#include "model/adapters/base_shapes.h"
#include "model/adapters/changed_tensor.h"
#include "model/block.h"
#include "model/weight_loader.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

std::vector<float> values_of(const backend::WeightSource& source) {
  const std::size_t row_bytes = source.format->row_bytes(source.cols), rows = static_cast<std::size_t>(source.rows);
  std::vector<std::byte> stored(rows * row_bytes);
  source.read(0, source.rows, stored);
  std::vector<float> values(rows * static_cast<std::size_t>(source.cols));
  source.format->unpack(stored.data(), values);
  return values;
}

// What adapters add to the tensors of a base, as these are stored.
class Terms {
 public:
  Terms(const Checkpoint& base, const Transformer& model) : base_(base), model_(model), weights_(base) {}

  // Adds all of an adapter whose weights are HeldLowRanks.
  void add(const Adapter& adapter, double scale);
  // The terms by the name of the tensor.
  std::map<std::string, std::vector<MatrixTerm>>& all() noexcept { return all_; }

 private:
  const backend::LowRankSource* take(const Adapter& adapter, std::int64_t place) const {
    const backend::LowRank* weights = adapter.weights(place);
    return weights == nullptr ? nullptr : &dynamic_cast<const backend::HeldLowRank&>(*weights).source();
  }
  void add(const Product& product, const std::vector<BlockWeight>& weights, std::int64_t layer,
           const backend::LowRankSource& source, double scale);
  void add(const BlockWeight& weight, const std::string& name, bool inputs_first,
           const backend::LowRankSource::Shrink& shrink, const backend::WeightSource& b, double scale);
  void check_plain(const std::string& file_name, const MatrixShape& shape) const;

  const Checkpoint& base_;
  const Transformer& model_;
  CheckpointWeights weights_;
  std::map<std::string, std::vector<MatrixTerm>> all_;
};

// The matrix has to be one tensor of its own format.
void Terms::check_plain(const std::string& file_name, const MatrixShape& shape) const {
  const auto stored = weights_.open(file_name, shape);
  const bool plain = stored->tensors.size() == 1 && stored->tensors.front()->format == stored->format &&
                     stored->factors.empty() && stored->columns.empty();
  if (plain) return;
  throw_load_error(ErrorCode::kUnsupported, file_name,
                   "{}: tensor '{}' is stored in several tensors: nothing can be merged into it", base_.path,
                   file_name);
}

void Terms::add(const BlockWeight& weight, const std::string& name, bool inputs_first,
                const backend::LowRankSource::Shrink& shrink, const backend::WeightSource& b, double scale) {
  const std::string file_name = model_.spec().names.in_file(name);
  if (weight.experts > 0 || weight.unit_rows) {
    throw_load_error(ErrorCode::kUnsupported, file_name, "{}: tensor '{}' has {}: nothing can be merged into it",
                     base_.path, file_name, weight.unit_rows ? "rows that are made unit vectors" : "several experts");
  }
  const std::int64_t rows = weight.tensor_rows(), cols = weight.cols, rank = shrink.a.rows;
  check_plain(file_name, {.rows = rows, .cols = cols, .inputs_first = inputs_first});
  const std::vector<float> a = values_of(shrink.a), expand = values_of(b);
  const auto factor = static_cast<float>(scale * shrink.scale);
  const auto at = [](std::int64_t row, std::int64_t width, std::int64_t column) {
    return static_cast<std::size_t>(row * width + column);
  };
  MatrixTerm term{.rank = rank,
                  .left = std::vector<float>(at(inputs_first ? cols : rows, rank, 0)),
                  .right = std::vector<float>(at(rank, inputs_first ? rows : cols, 0))};
  for (std::int64_t r = 0; r < rank; ++r) {
    for (std::int64_t i = 0; i < weight.rows; ++i) {
      const std::int64_t row = tensor_row(weight, i);
      const float value = factor * expand[at(i, rank, r)];
      (inputs_first ? term.right[at(r, rows, row)] : term.left[at(row, rank, r)]) = value;
    }
    for (std::int64_t j = 0; j < cols; ++j) {
      const std::int64_t column = weight.column_turns.place(j, cols);
      const float value = a[at(r, shrink.a.cols, j)];
      (inputs_first ? term.left[at(column, rank, r)] : term.right[at(r, cols, column)]) = value;
    }
  }
  all_[file_name].push_back(std::move(term));
}

void Terms::add(const Product& product, const std::vector<BlockWeight>& weights, std::int64_t layer,
                const backend::LowRankSource& source, double scale) {
  if (!product.row_order.empty() || !product.column_order.empty()) {
    throw_load_error(ErrorCode::kUnsupported, product.roles.front(),
                     "{}: {} of layer {} has columns in an order of its own: nothing can be merged into it", base_.path,
                     product.roles.front(), layer);
  }
  for (const auto& expand : source.expands) {
    const auto found =
        std::ranges::find(weights, product.roles[static_cast<std::size_t>(expand.stacked)], &BlockWeight::role);
    CHECK(found != weights.end());
    add(*found, WeightLoader::layer_name(found->tensor(), layer), model_.spec().transposed_linears,
        source.shrinks[static_cast<std::size_t>(expand.shrink)], expand.b, scale);
  }
}

void Terms::add(const Adapter& adapter, double scale) {
  const ModelSpec& spec = model_.spec();
  const WeightLoader files(base_, spec);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const HasTensor has = [&](const std::string& pattern) {
      const std::string name = WeightLoader::layer_name(pattern, layer);
      return files.has(name + ".weight") || files.has(name);
    };
    for (std::size_t b = 0; b < spec.layers[i].blocks.size(); ++b) {
      const std::vector<BlockWeight> weights = block_weights(spec.layers[i].blocks[b], spec, has);
      for (const Product* product : model_.layers().products(layer, b)) {
        if (const auto* source = take(adapter, product->place)) add(*product, weights, layer, *source, scale);
      }
    }
  }
  for (std::int64_t place = 0; place < kLayerPlaces; ++place) {
    const backend::LowRankSource* source = take(adapter, place);
    if (source == nullptr) continue;
    if (place != kHeadPlace) {
      throw_load_error(ErrorCode::kUnsupported, "lora", "{}: an adapter of its embedding cannot be merged", base_.path);
    }
    const BlockWeight head{.role = "output",
                           .name = spec.names.head,
                           .rows = spec.vocab_size,
                           .cols = spec.embedding_width(),
                           .unit_rows = spec.unit_head};
    const std::string tensor = head.tensor(), embedding = spec.names.embedding + ".weight";
    const bool own = base_.find(spec.names.in_file(tensor)) != nullptr;
    add(head, own ? tensor : embedding, false, source->shrinks.front(), source->expands.front().b, scale);
    if (own) continue;
    auto terms = all_.extract(spec.names.in_file(embedding));
    auto& of_head = all_[spec.names.in_file(tensor)];
    std::ranges::move(terms.mapped(), std::back_inserter(of_head));
  }
}

// A head of its own, with the values of the embedding.
void untie_head(Checkpoint& base, const WeightNames& names) {
  RawTensor head = *base.find(names.in_file(names.embedding + ".weight"));
  head.name = names.in_file(names.head + ".weight");
  base.tensor_index.emplace(head.name, base.tensors.size());
  base.tensors.push_back(std::move(head));
}

// The format in which the tensor is to be read.
const quant::QuantFormat& format_of(const Checkpoint& base, const RawTensor& tensor, bool changed,
                                    const TensorFormats& formats) {
  const quant::QuantFormat* wanted = formats ? formats(tensor) : nullptr;
  if (wanted == nullptr) wanted = tensor.format;
  if ((changed || wanted != tensor.format) && wanted->pack == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, tensor.name,
                     "{}: tensor '{}' is stored as {}, which nothing here writes: nothing can be merged into it",
                     base.path, tensor.name, wanted->name);
  }
  return *wanted;
}

}  // namespace

Merged merge_adapters(Env& env, Checkpoint& base, std::unique_ptr<backend::Backend> backend,
                      std::span<const ScaledAdapter> adapters, const TensorFormats& formats) {
  BaseShapes shapes(base, std::move(backend), backend::MatmulPrecision::kF32);
  Terms terms(base, shapes.model());
  Sha256 digest;
  for (const ScaledAdapter& one : adapters) {
    const auto adapter = shapes.load(env, one.path, {.type = AdapterType::kF32, .max_rank = 1024});
    terms.add(*adapter, one.scale);
    const std::string text = fmt::format("{} {}\n", adapter->key(), one.scale);
    digest.update(std::as_bytes(std::span(text)));
  }
  const auto error = std::make_shared<RoundingError>();
  Merged merged{.adapters = std::ssize(adapters), .tensors = std::ssize(terms.all()), .error = error};
  const WeightNames& names = shapes.model().spec().names;
  const std::string head = names.in_file(names.head + ".weight");
  const bool untied = terms.all().contains(head) && base.find(head) == nullptr;
  std::vector<RawTensor> before = base.tensors;
  if (untied) untie_head(base, names);
  std::vector<std::unique_ptr<RandomAccessFile>> made;
  std::vector<RawTensor> tensors = base.tensors;
  try {
    for (RawTensor& tensor : tensors) {
      const auto found = terms.all().find(tensor.name);
      const bool changed = found != terms.all().end();
      const quant::QuantFormat& format = format_of(base, tensor, changed, formats);
      if (!changed && &format == tensor.format) continue;
      made.push_back(std::make_unique<ChangedTensor>(*base.files[static_cast<std::size_t>(tensor.file)], tensor, format,
                                                     changed ? std::move(found->second) : std::vector<MatrixTerm>(),
                                                     error));
      tensor.file = static_cast<int>(base.files.size() + made.size() - 1);
      tensor.format = &format;
      tensor.offset = 0;
      tensor.bytes = made.back()->size();
    }
  } catch (...) {
    if (untied) base.tensor_index.erase(base.tensors.back().name);
    base.tensors = std::move(before);
    throw;
  }
  std::ranges::move(made, std::back_inserter(base.files));
  base.tensors = std::move(tensors);
  if (!adapters.empty()) base.merged = hex(digest.finish());
  return merged;
}

}  // namespace millrace::model

#include "model/adapters/merged_checkpoint.h"

#include <algorithm>
#include <map>
#include <utility>

#include "backend/source_rows.h"
#include "base/sha256.h"
#include "model/adapters/base_shapes.h"
#include "model/adapters/changed_tensor.h"
#include "model/adapters/kept_matrices.h"
#include "model/block.h"
#include "model/weight_loader.h"
#include "model/weights/checkpoint_weights.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;
using Expand = backend::LowRankSource::Expand;

// What adapters change of the tensors of a base, as these are stored.
class Terms {
 public:
  Terms(const Checkpoint& base, const Transformer& model)
      : base_(base), model_(model), names_(model.spec().names), weights_(base) {}

  // Takes the vectors out of the files that are the base's as a whole. Returns a key of their values; empty: there are
  // none.
  std::string take_vectors(AdapterFiles& files, double scale);
  // Adds all of an adapter whose weights are HeldLowRanks and HeldRowDeltas.
  void add(const Adapter& adapter, double scale);
  // The terms by the name of the tensor.
  std::map<std::string, std::vector<MatrixTerm>>& all() noexcept { return all_; }
  // Whether a head that is tied to the embedding has to become a tensor of its own.
  bool unties() const {
    return model_.spec().tied_head && base_.find(head_tensor()) == nullptr &&
           (all_.contains(head_tensor()) || all_.contains(embedding_tensor()));
  }
  std::string head_tensor() const { return names_.in_file(names_.head + ".weight"); }
  std::string embedding_tensor() const { return names_.in_file(names_.embedding + ".weight"); }

 private:
  [[noreturn]] void refuse(const std::string& tensor, const std::string& why) const {
    throw_load_error(ErrorCode::kUnsupported, tensor, "{}: tensor '{}' {}", base_.path, tensor, why);
  }
  void add(const Product& product, const std::vector<BlockWeight>& weights, std::int64_t layer,
           const backend::LowRankSource& source, double scale);
  // `like`: the tensor of the base that has the shape and the format.
  void add(const BlockWeight& weight, const std::string& file_name, const std::string& like, bool inputs_first,
           const backend::LowRankSource& source, const Expand& expand, double scale);
  void add_experts(const BlockWeight& weight, const std::string& file_name, const backend::LowRankSource& source,
                   const Expand& expand, double scale);
  void add_bias(const BlockWeight& weight, const std::string& file_name, const Expand& expand, double scale);
  void add_rows(const backend::LowRankSource& source, const Expand& expand, double scale);
  void add_head(const backend::LowRankSource& source, double scale);
  void add_embedding(const backend::RowDeltaSource& source, double scale);
  void check_plain(const std::string& file_name, const MatrixShape& shape) const;

  const Checkpoint& base_;
  const Transformer& model_;
  const WeightNames& names_;
  CheckpointWeights weights_;
  std::map<std::string, std::vector<MatrixTerm>> all_;
};

std::size_t at(std::int64_t row, std::int64_t width, std::int64_t column) noexcept {
  return static_cast<std::size_t>(row * width + column);
}

// The matrix has to be one tensor of its own format.
void Terms::check_plain(const std::string& file_name, const MatrixShape& shape) const {
  const auto stored = weights_.open(file_name, shape);
  const bool plain = stored->tensors.size() == 1 && stored->tensors.front()->format == stored->format &&
                     stored->factors.empty() && stored->columns.empty();
  if (plain) return;
  refuse(file_name,
         "is stored in several tensors: nothing can be merged into it, but `millrace lora merge --type bf16` writes a "
         "model that is not quantized");
}

// The factor of the rows' own order in the file.
MatrixTerm factors_term(const BlockWeight& weight, const Expand& expand, double scale, bool inputs_first) {
  MatrixTerm term;
  if (expand.factor.empty()) return term;
  std::vector<float>& factors = inputs_first ? term.column_factors : term.row_factors;
  factors.assign(static_cast<std::size_t>(weight.tensor_rows()), 1.0f);
  for (std::int64_t i = 0; i < weight.rows; ++i) {
    const double factor = expand.factor[static_cast<std::size_t>(i)];
    factors[static_cast<std::size_t>(tensor_row(weight, i))] = static_cast<float>(1.0 + scale * (factor - 1.0));
  }
  return term;
}

// What is added to the matrix, of one expert if there are several, as the file has it.
MatrixTerm matrix_term(const BlockWeight& weight, const backend::LowRankSource& source, const Expand& expand,
                       double scale, bool inputs_first, std::int64_t expert) {
  const std::int64_t rows = weight.tensor_rows(), cols = weight.cols, stored_cols = inputs_first ? rows : cols;
  const auto column = [&](std::int64_t j) { return weight.column_turns.place(j, cols); };
  const std::vector<float> b = backend::source_values(expand.b, expert);
  MatrixTerm term = factors_term(weight, expand, scale, inputs_first);
  if (expand.shrink == Expand::kInput) {
    term.dense.resize(at(rows, cols, 0));
    for (std::int64_t i = 0; i < weight.rows; ++i) {
      const std::int64_t row = tensor_row(weight, i);
      for (std::int64_t j = 0; j < cols; ++j) {
        const std::size_t to = inputs_first ? at(column(j), stored_cols, row) : at(row, stored_cols, column(j));
        term.dense[to] = static_cast<float>(scale * b[at(i, expand.b.cols, j)]);
      }
    }
    return term;
  }
  const auto& shrink = source.shrinks[static_cast<std::size_t>(expand.shrink)];
  const std::int64_t rank = term.rank = shrink.a.rows;
  const std::vector<float> a = backend::source_values(shrink.a, expert);
  const auto factor = static_cast<float>(scale * shrink.scale);
  term.left.resize(at(inputs_first ? cols : rows, rank, 0));
  term.right.resize(at(rank, stored_cols, 0));
  for (std::int64_t r = 0; r < rank; ++r) {
    for (std::int64_t i = 0; i < weight.rows; ++i) {
      const std::int64_t row = tensor_row(weight, i);
      (inputs_first ? term.right[at(r, rows, row)] : term.left[at(row, rank, r)]) = factor * b[at(i, rank, r)];
    }
    for (std::int64_t j = 0; j < cols; ++j) {
      const float value = a[at(r, shrink.a.cols, j)];
      (inputs_first ? term.left[at(column(j), rank, r)] : term.right[at(r, cols, column(j))]) = value;
    }
  }
  return term;
}

void Terms::add(const BlockWeight& weight, const std::string& file_name, const std::string& like, bool inputs_first,
                const backend::LowRankSource& source, const Expand& expand, double scale) {
  if (weight.unit_rows) refuse(file_name, "has rows that are made unit vectors: nothing can be merged into it");
  check_plain(like, {.rows = weight.tensor_rows(), .cols = weight.cols, .inputs_first = inputs_first});
  all_[file_name].push_back(matrix_term(weight, source, expand, scale, inputs_first, 0));
}

// Experts have a tensor each, or lie one behind the other in one.
void Terms::add_experts(const BlockWeight& weight, const std::string& file_name, const backend::LowRankSource& source,
                        const Expand& expand, double scale) {
  const bool apart = file_name.find("[]") != std::string::npos, inputs_first = weight.inputs_first;
  const MatrixShape shape{.rows = weight.tensor_rows(),
                          .cols = weight.cols,
                          .inputs_first = inputs_first,
                          .experts = apart ? 0 : weight.experts};
  const std::int64_t stored_rows = inputs_first ? weight.cols : weight.tensor_rows();
  for (std::int64_t e = 0; e < weight.experts; ++e) {
    const std::string name = WeightLoader::expert_name(file_name, e);
    if (apart || e == 0) check_plain(name, shape);
    MatrixTerm term = matrix_term(weight, source, expand, scale, inputs_first, e);
    if (!apart) term.first_row = e * stored_rows;
    if (!apart) term.rows = stored_rows;
    all_[name].push_back(std::move(term));
  }
}

void Terms::add_bias(const BlockWeight& weight, const std::string& file_name, const Expand& expand, double scale) {
  if (expand.bias.empty()) return;
  const RawTensor* tensor = base_.find(file_name);
  if (tensor == nullptr) {
    throw_load_error(
        ErrorCode::kUnsupported, file_name,
        "{}: has no tensor '{}', which an adapter adds to: biases are only merged into those that are there",
        base_.path, file_name);
  }
  if (tensor->shape != Shape{weight.tensor_rows()}) refuse(file_name, "is no vector of the weight's rows");
  const auto n = static_cast<std::size_t>(weight.tensor_rows());
  MatrixTerm term{.dense = std::vector<float>(n)};
  if (expand.replaces_bias) term.column_factors.assign(n, 1.0f);
  for (std::int64_t i = 0; i < weight.rows; ++i) {
    const auto row = static_cast<std::size_t>(tensor_row(weight, i));
    term.dense[row] = static_cast<float>(scale * expand.bias[static_cast<std::size_t>(i)]);
    if (expand.replaces_bias) term.column_factors[row] = static_cast<float>(1.0 - scale);
  }
  all_[file_name].push_back(std::move(term));
}

void Terms::add(const Product& product, const std::vector<BlockWeight>& weights, std::int64_t layer,
                const backend::LowRankSource& source, double scale) {
  for (const Expand& expand : source.expands) {
    const auto found =
        std::ranges::find(weights, product.roles[static_cast<std::size_t>(expand.stacked)], &BlockWeight::role);
    CHECK(found != weights.end());
    const std::string name = names_.in_file(WeightLoader::layer_name(found->tensor(), layer));
    if (!product.row_order.empty() || !product.column_order.empty()) {
      refuse(name, "has columns in an order of its own: nothing can be merged into it");
    }
    if (found->experts > 0) {
      add_experts(*found, name, source, expand, scale);
      continue;
    }
    if (expand.b.rows > 0) add(*found, name, name, model_.spec().transposed_linears, source, expand, scale);
    add_bias(*found, names_.in_file(WeightLoader::layer_name(found->bias_tensor(), layer)), expand, scale);
  }
}

// Rows of A that are added to rows of the head.
void Terms::add_rows(const backend::LowRankSource& source, const Expand& expand, double scale) {
  const auto& shrink = source.shrinks[static_cast<std::size_t>(expand.shrink)];
  MatrixTerm term{.dense = backend::source_values(shrink.a), .dense_rows = expand.outputs};
  term.dense.resize(at(std::ssize(expand.outputs), shrink.a.cols, 0));
  for (float& value : term.dense) value *= static_cast<float>(scale * shrink.scale);
  all_[head_tensor()].push_back(std::move(term));
}

void Terms::add_head(const backend::LowRankSource& source, double scale) {
  const ModelSpec& spec = model_.spec();
  const BlockWeight head{.role = "output",
                         .name = names_.head,
                         .rows = spec.vocab_size,
                         .cols = spec.embedding_width(),
                         .unit_rows = spec.unit_head};
  const std::string like = base_.find(head_tensor()) != nullptr ? head_tensor() : embedding_tensor();
  for (const Expand& expand : source.expands) {
    if (!expand.outputs.empty()) add_rows(source, expand, scale);
    if (expand.b.rows > 0) add(head, head_tensor(), like, false, source, expand, scale);
    add_bias(head, names_.in_file(head.bias_tensor()), expand, scale);
  }
}

void Terms::add_embedding(const backend::RowDeltaSource& source, double scale) {
  const std::int64_t rows = model_.spec().vocab_size, cols = model_.spec().embedding_width();
  check_plain(embedding_tensor(), {.rows = rows, .cols = cols});
  MatrixTerm term;
  if (source.a.rows > 0) {
    const std::vector<float> b = backend::source_values(source.b);
    term.rank = source.a.cols;
    term.left = backend::source_values(source.a);
    for (float& value : term.left) value *= static_cast<float>(scale * source.scale);
    term.right.resize(at(term.rank, cols, 0));
    for (std::int64_t j = 0; j < cols; ++j) {
      for (std::int64_t r = 0; r < term.rank; ++r) term.right[at(r, cols, j)] = b[at(j, term.rank, r)];
    }
  }
  if (source.d.rows > 0) {
    term.dense = backend::source_values(source.d);
    for (float& value : term.dense) value *= static_cast<float>(scale);
    term.dense_rows = source.ids;
  }
  all_[embedding_tensor()].push_back(std::move(term));
}

void Terms::add(const Adapter& adapter, double scale) {
  const ModelSpec& spec = model_.spec();
  const WeightLoader files(base_, spec);
  const auto take = [&](std::int64_t place) {
    const backend::LowRank* weights = adapter.weights(place);
    return weights == nullptr ? nullptr : &dynamic_cast<const backend::HeldLowRank&>(*weights).source();
  };
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const HasTensor has = files.in_layer(layer);
    for (std::size_t b = 0; b < spec.layers[i].blocks.size(); ++b) {
      const std::vector<BlockWeight> weights = block_weights(spec.layers[i].blocks[b], spec, has);
      for (const Product* product : model_.layers().products(layer, b)) {
        if (const auto* source = take(product->place)) add(*product, weights, layer, *source, scale);
      }
    }
  }
  if (const backend::LowRank* rows = adapter.weights(kEmbeddingPlace)) {
    add_embedding(dynamic_cast<const backend::HeldRowDelta&>(*rows).source(), scale);
  }
  if (const auto* source = take(kHeadPlace)) add_head(*source, scale);
  for (const std::int64_t place : {kProjectInPlace, kProjectOutPlace}) {
    if (take(place) != nullptr) refuse(names_.project_in, "and what it belongs to take no adapter here");
  }
}

std::string Terms::take_vectors(AdapterFiles& files, double scale) {
  KeptMatrices kept;
  std::vector<RawTensor> others;
  for (const RawTensor& tensor : files.tensors.tensors) {
    const std::string module = tensor.name.substr(0, tensor.name.rfind('.'));
    const RawTensor *weight = base_.find(module + ".weight"), *own = base_.find(tensor.name);
    const bool vector = weight != nullptr && weight->shape.rank() == 1 && own != nullptr && own->shape == tensor.shape;
    if (!vector) {
      others.push_back(tensor);
      continue;
    }
    std::vector<std::byte> stored(tensor.bytes);
    files.tensors.read(tensor, 0, stored).or_throw();
    const auto n = static_cast<std::size_t>(tensor.shape.elements());
    MatrixTerm term{.column_factors = std::vector<float>(n, static_cast<float>(1.0 - scale)),
                    .dense = std::vector<float>(n)};
    tensor.format->unpack(stored.data(), term.dense);
    kept.note(tensor.name, term.dense);
    for (float& value : term.dense) value *= static_cast<float>(scale);
    all_[tensor.name].push_back(std::move(term));
    for (const std::string& saved : std::vector<std::string>(files.config.modules_to_save())) {
      if (module == saved || module.ends_with("." + saved)) files.config.forget_saved(saved);
    }
  }
  if (others.size() == files.tensors.tensors.size()) return {};
  files.tensors.tensors = std::move(others);
  checkpoint::index_names(files.tensors);
  return kept.key();
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
                      std::span<const ScaledAdapter> adapters, const MergeOptions& options) {
  BaseShapes shapes(base, std::move(backend), backend::MatmulPrecision::kF32);
  Terms terms(base, shapes.model());
  Sha256 digest;
  for (const ScaledAdapter& one : adapters) {
    AdapterFiles files = shapes.open(env, one.path);
    if (!files.config.invocation_tokens().empty()) {
      throw_load_error(ErrorCode::kUnsupported, "alora_invocation_tokens",
                       "{}: alora_invocation_tokens is set: what begins amid a prompt cannot be merged", one.path);
    }
    std::string text = terms.take_vectors(files, one.scale);
    if (text.empty() || !files.tensors.tensors.empty()) {
      const auto adapter = shapes.load(files, {.type = AdapterType::kF32, .max_rank = 1024, .layers = options.layers});
      terms.add(*adapter, one.scale);
      text += adapter->key();
    }
    text += fmt::format(" {}\n", one.scale);
    digest.update(std::as_bytes(std::span(text)));
  }
  const auto error = std::make_shared<RoundingError>();
  Merged merged{.adapters = std::ssize(adapters), .tensors = std::ssize(terms.all()), .error = error};
  const WeightNames& names = shapes.model().spec().names;
  const bool untied = terms.unties();
  std::vector<RawTensor> before = base.tensors;
  if (untied) untie_head(base, names);
  std::vector<std::unique_ptr<RandomAccessFile>> made;
  std::vector<RawTensor> tensors = base.tensors;
  try {
    for (RawTensor& tensor : tensors) {
      const auto found = terms.all().find(tensor.name);
      const bool changed = found != terms.all().end();
      const quant::QuantFormat& format = format_of(base, tensor, changed, options.formats);
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

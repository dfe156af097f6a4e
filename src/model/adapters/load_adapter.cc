#include "model/adapters/load_adapter.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <utility>

#include "base/sha256.h"
#include "model/adapters/adapter_files.h"
#include "model/make_spec.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

// Rows in which a copy of a weight is compared with it, and the relative difference that rounding to few bits makes.
constexpr std::int64_t kComparedRows = 64;
constexpr double kLikeness = 0.5;
constexpr std::string_view kA = ".lora_A.weight", kB = ".lora_B.weight";

std::string_view name_of(AdapterType type) noexcept {
  return type == AdapterType::kF32 ? "f32" : type == AdapterType::kInt8 ? "int8" : "bf16";
}

// Matrices in the formats in which they are kept, with a digest of all and the error of keeping them so.
class KeptMatrices {
 public:
  void note(std::string_view text) {
    digest_.update(std::as_bytes(std::span(text)));
    digest_.update(std::as_bytes(std::span("\n", 1)));
  }
  // Reads the matrix and rounds it. Throws LoadError naming a tensor with a value that is no finite number.
  backend::WeightSource keep(const backend::WeightSource& source, const quant::QuantFormat& format) {
    const std::size_t row_bytes = format.row_bytes(source.cols), n = static_cast<std::size_t>(source.rows);
    auto bytes = std::make_shared<std::vector<std::byte>>(n * row_bytes);
    std::vector<std::byte> stored(source.format->row_bytes(source.cols));
    std::vector<float> values(static_cast<std::size_t>(source.cols)), rounded(values.size());
    for (std::size_t r = 0; r < n; ++r) {
      source.read(static_cast<std::int64_t>(r), 1, stored);
      source.format->unpack(stored.data(), values);
      if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); })) {
        throw_load_error(ErrorCode::kBadFile, source.name, "tensor '{}' has a value that is no finite number",
                         source.name);
      }
      std::byte* to = bytes->data() + r * row_bytes;
      format.pack(values, to);
      format.unpack(to, rounded);
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double error = static_cast<double>(rounded[i]) - values[i];
        squares_ += static_cast<double>(values[i]) * values[i];
        errors_ += error * error;
      }
    }
    digest_.update(*bytes);
    backend::WeightSource kept{
        .name = source.name, .format = &format, .rows = source.rows, .cols = source.cols, .read = {}};
    kept.read = [bytes, row_bytes](std::int64_t first, std::int64_t, std::span<std::byte> out) {
      std::memcpy(out.data(), bytes->data() + static_cast<std::size_t>(first) * row_bytes, out.size());
    };
    return kept;
  }
  double error() const { return squares_ > 0.0 ? std::sqrt(errors_ / squares_) : 0.0; }
  std::string key() { return hex(digest_.finish()); }

 private:
  Sha256 digest_;
  double squares_ = 0.0, errors_ = 0.0;
};

// The matrix with column order[j] as column j.
backend::WeightSource with_columns(backend::WeightSource source, const std::vector<std::int32_t>& order) {
  if (order.empty()) return source;
  CHECK(source.format->block_values == 1);
  const auto width = static_cast<std::size_t>(source.format->block_bytes);
  source.read = [read = std::move(source.read), &order, width](std::int64_t first, std::int64_t count,
                                                               std::span<std::byte> out) {
    std::vector<std::byte> stored(out.size());
    read(first, count, stored);
    for (std::size_t at = 0; at < out.size(); at += width) {
      const std::size_t column = at / width % order.size(), row = at - column * width;
      std::memcpy(out.data() + at, stored.data() + row + static_cast<std::size_t>(order[column]) * width, width);
    }
  };
  return source;
}

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
    const bool fits = found != weights.end() && found->experts == 0 &&
                      found->rows + found->zero_rows == product.rows[i] &&
                      found->cols + found->zero_cols == product.weight->k();
    stacked.push_back(fits ? &*found : nullptr);
  }
  return stacked;
}

// What one adapter adds to the products of a model, being read.
class Reading {
 public:
  Reading(const AdapterFiles& files, const ModelSpec& spec, const AdapterOptions& options)
      : files_(files), options_(options), spec_(spec), loader_(files.tensors, spec) {}

  bool has(const std::string& module) const { return loader_.has(module + std::string(kA)); }
  // Adds what the adapter has for a product of these weights, as its tensors call them; nothing where it has none.
  void add(const Product& product, std::span<const BlockWeight* const> stacked, std::int64_t layer);
  // The same for one matrix outside the layers.
  void add(std::int64_t place, const backend::Linear& linear, const BlockWeight& weight);

  std::vector<std::int64_t> places;
  std::vector<backend::LowRankSource> sources;
  AdapterSummary summary;
  KeptMatrices kept;
  void check_all_used() const { loader_.check_all_used(); }
  // PEFT saves a copy of the base's head and embedding where it adapts one of them: checks that it is one of this
  // base's.
  void pass_copy(const std::string& module, WeightLoader& base, const std::string& base_name);

 private:
  AdapterType type_for(const backend::Linear& linear) const {
    if (options_.type != AdapterType::kAuto) return options_.type;
    return linear.description().starts_with("f32") ? AdapterType::kF32 : AdapterType::kBf16;
  }
  void add_part(backend::LowRankSource& source, const Product& product, std::int64_t stacked, const BlockWeight& weight,
                const std::string& module);
  std::int64_t rank_of(const std::string& module);

  const AdapterFiles& files_;
  const AdapterOptions& options_;
  const ModelSpec& spec_;
  WeightLoader loader_;
  std::map<std::string, std::int64_t> shrinks_;  // of the product being added, by module
};

std::int64_t Reading::rank_of(const std::string& module) {
  const std::string name = spec_.names.in_file(module + std::string(kA));
  const checkpoint::RawTensor* a = files_.tensors.find(name);
  const std::int64_t rank = a->shape.rank() == 2 ? a->shape[0] : 0;
  const std::int64_t configured = files_.config.rank(spec_.names.in_file(module));
  if (rank != configured) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' is {}: rank {} expected, as adapter_config.json says",
                     files_.path, name, a->shape.to_string(), configured);
  }
  if (rank > options_.max_rank) {
    throw_load_error(ErrorCode::kUnsupported, "max-lora-rank", "{}: tensor '{}' is of rank {}, max-lora-rank is {}",
                     files_.path, name, rank, options_.max_rank);
  }
  if (!loader_.has(module + std::string(kB))) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' has no lora_B beside it", files_.path, name);
  }
  return rank;
}

void Reading::add_part(backend::LowRankSource& source, const Product& product, std::int64_t stacked,
                       const BlockWeight& weight, const std::string& module) {
  const std::int64_t rank = rank_of(module), padding = rank % 2;
  const AdapterType type = type_for(*source.base);
  const quant::QuantFormat* dense = quant::find_format(type == AdapterType::kF32 ? "f32" : "bf16");
  const double scale = files_.config.scale(spec_.names.in_file(module));
  const auto [at, is_new] = shrinks_.emplace(module, std::ssize(source.shrinks));
  if (is_new) {
    const BlockWeight a{.role = weight.role,
                        .name = module,
                        .rows = rank,
                        .cols = weight.cols,
                        .column_turns = weight.column_turns,
                        .zero_rows = padding,
                        .zero_cols = weight.zero_cols};
    const backend::WeightSource read = with_columns(loader_.linear(module + std::string(kA), a), product.column_order);
    const bool int8 = type == AdapterType::kInt8 && read.cols % 32 == 0;
    kept.note(fmt::format("{} {} {} {}", module, rank, scale, name_of(type)));
    source.shrinks.push_back({kept.keep(read, int8 ? *quant::find_format("q8_0") : *dense), static_cast<float>(scale)});
    ++summary.modules;
    summary.rank = std::max(summary.rank, rank);
    summary.type = name_of(type);
  }
  BlockWeight b = weight;
  b.name = module;
  b.cols = rank;
  b.column_turns = {};
  b.zero_cols = padding;
  const backend::WeightSource read =
      WeightLoader::with_rows(loader_.linear(module + std::string(kB), b), product.row_order);
  source.expands.push_back({stacked, at->second, kept.keep(read, *dense)});
}

void Reading::add(const Product& product, std::span<const BlockWeight* const> stacked, std::int64_t layer) {
  backend::LowRankSource source{.base = product.weight.get()};
  shrinks_.clear();
  for (std::size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i] == nullptr) continue;
    const std::string module = WeightLoader::layer_name(stacked[i]->name, layer);
    if (!has(module)) continue;
    add_part(source, product, static_cast<std::int64_t>(i), *stacked[i], module);
  }
  if (source.shrinks.empty()) return;
  places.push_back(product.place);
  sources.push_back(std::move(source));
}

void Reading::add(std::int64_t place, const backend::Linear& linear, const BlockWeight& weight) {
  backend::LowRankSource source{.base = &linear};
  shrinks_.clear();
  if (!has(weight.name)) return;
  add_part(source, Product{}, 0, weight, weight.name);
  places.push_back(place);
  sources.push_back(std::move(source));
}

void Reading::pass_copy(const std::string& module, WeightLoader& base, const std::string& base_name) {
  const std::string name = module + ".base_layer.weight";
  if (!loader_.has(name)) return;
  const std::int64_t rows = spec_.vocab_size, cols = spec_.embedding_width();
  const backend::WeightSource copy = loader_.linear(name, rows, cols), own = base.linear(base_name, rows, cols);
  const auto values = [&](const backend::WeightSource& source, std::int64_t row) {
    std::vector<std::byte> stored(source.format->row_bytes(cols));
    std::vector<float> out(static_cast<std::size_t>(cols));
    source.read(row, 1, stored);
    source.format->unpack(stored.data(), out);
    return out;
  };
  double squares = 0.0, difference = 0.0;
  for (std::int64_t row = 0; row < rows; row += std::max<std::int64_t>(1, rows / kComparedRows)) {
    const std::vector<float> a = values(copy, row), b = values(own, row);
    for (std::size_t i = 0; i < a.size(); ++i) {
      squares += static_cast<double>(a[i]) * a[i];
      difference += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    }
  }
  if (difference <= kLikeness * kLikeness * squares) return;
  throw_load_error(ErrorCode::kBadFile, name,
                   "{}: tensor '{}' is no copy of the base's: the adapter was made of another model", files_.path,
                   spec_.names.in_file(name));
}

}  // namespace

std::shared_ptr<const Adapter> AdapterLoader::load(Env& env, const std::string& directory,
                                                   const AdapterOptions& options) const {
  const AdapterFiles files = open_adapter(env, directory);
  ModelSpec spec = make_module_spec(checkpoint_);
  spec.transposed_linears = false;
  const LayerStack& layers = model_.layers();
  if (std::ssize(spec.layers) > layers.size()) spec.layers.resize(static_cast<std::size_t>(layers.size()));
  const HasTensor none = [](const std::string&) { return false; };
  for (const BlockWeight& weight : block_weights(spec.layers.front().blocks.front(), spec, none)) {
    if (const std::size_t at = weight.name.find("{}"); at != std::string::npos) {
      find_prefix(files.tensors, weight.name.substr(0, at), spec.names);
      break;
    }
  }
  Reading reading(files, spec, options);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) {
    const auto layer = static_cast<std::int64_t>(i);
    const HasTensor has = [&](const std::string& pattern) {
      return reading.has(WeightLoader::layer_name(pattern, layer));
    };
    for (std::size_t b = 0; b < spec.layers[i].blocks.size(); ++b) {
      const std::vector<BlockWeight> weights = block_weights(spec.layers[i].blocks[b], spec, has);
      for (const Product* product : layers.products(layer, b)) {
        reading.add(*product, stacked_in(*product, weights), layer);
      }
    }
  }
  reading.add(kHeadPlace, model_.head(),
              {.role = "output", .name = spec.names.head, .rows = spec.vocab_size, .cols = spec.embedding_width()});
  WeightLoader base(checkpoint_, model_.spec());
  const WeightNames& own = model_.spec().names;
  const bool tied = model_.spec().tied_head;
  reading.pass_copy(spec.names.embedding, base, own.embedding + ".weight");
  reading.pass_copy(spec.names.head, base, (tied ? own.embedding : own.head) + ".weight");
  reading.check_all_used();
  if (reading.sources.empty()) {
    throw_load_error(ErrorCode::kBadFile, directory, "{}: has no weights", directory);
  }
  auto packed = backend_.make_low_ranks(std::move(reading.sources), model_.precision());
  std::vector<std::unique_ptr<backend::LowRank>> by_place(static_cast<std::size_t>(layers.places()));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    by_place[static_cast<std::size_t>(reading.places[i])] = std::move(packed[i]);
  }
  reading.summary.error = reading.kept.error();
  return std::make_shared<const Adapter>(reading.kept.key(), reading.summary, std::move(by_place));
}

}  // namespace millrace::model

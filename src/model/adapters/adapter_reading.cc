#include "model/adapters/adapter_reading.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "backend/source_rows.h"
#include "base/check.h"
#include "model/adapters/adapter_names.h"
#include "model/adapters/dora.h"

namespace millrace::model {
namespace {

using Expand = backend::LowRankSource::Expand;

// Rows in which a copy of a weight is compared with it, and the relative difference that rounding to few bits makes.
constexpr std::int64_t kComparedRows = 64;
constexpr double kLikeness = 0.5;

constexpr std::string_view kBiasOfB = ".lora_B.bias", kMagnitude = ".lora_magnitude_vector", kWhole = ".weight",
                           kBias = ".bias", kBaseBias = ".base_layer.bias", kBaseWeight = ".base_layer.weight",
                           kRowsOfTokens = ".token_adapter.trainable_tokens_delta";

std::string_view name_of(AdapterType type) noexcept {
  return type == AdapterType::kF32 ? "f32" : type == AdapterType::kInt8 ? "int8" : "bf16";
}

// The values of these rows.
std::vector<float> of_rows(const std::vector<float>& values, RowRange rows) {
  return {values.begin() + rows.first, values.begin() + rows.last};
}

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

}  // namespace

AdapterType AdapterReading::type_for(const backend::Linear& linear) const {
  if (options_.type != AdapterType::kAuto) return options_.type;
  return linear.description().starts_with("f32") ? AdapterType::kF32 : AdapterType::kBf16;
}

const quant::QuantFormat& AdapterReading::dense_format(const backend::Linear& linear) const {
  return *quant::find_format(type_for(linear) == AdapterType::kF32 ? "f32" : "bf16");
}

bool AdapterReading::has(const std::string& module) const {
  return std::ranges::any_of(std::initializer_list<std::string_view>{kMatrixA, kWhole, kBias, kBaseBias},
                             [&](std::string_view end) { return loader_.has(module + end); });
}

void AdapterReading::count(const backend::Linear& linear, std::int64_t rank) {
  ++summary.modules;
  summary.rank = std::max(summary.rank, rank);
  summary.type = name_of(type_for(linear));
}

std::int64_t AdapterReading::rank_of(const std::string& module, const std::string& a_name, const std::string& b_name,
                                     std::int64_t experts) {
  const std::string name = spec_.names.in_file(a_name);
  const checkpoint::RawTensor* a = files_.tensors.find(name);
  const std::int64_t configured = files_.config.rank(spec_.names.in_file(module));
  if (a->shape.rank() != 2 || a->shape[0] != configured * experts) {
    throw_load_error(ErrorCode::kBadFile, name,
                     "{}: tensor '{}' is {}: rank {} expected, as adapter_config.json says{}", files_.path, name,
                     a->shape.to_string(), configured,
                     experts == 1 ? "" : fmt::format(", of each of {} experts", experts));
  }
  const std::int64_t rank = configured;
  if (rank > options_.max_rank) {
    throw_load_error(ErrorCode::kUnsupported, "max-lora-rank", "{}: tensor '{}' is of rank {}, max-lora-rank is {}",
                     files_.path, name, rank, options_.max_rank);
  }
  if (!loader_.has(b_name)) {
    throw_load_error(ErrorCode::kBadFile, name, "{}: tensor '{}' has no lora_B beside it", files_.path, name);
  }
  return rank;
}

std::vector<float> AdapterReading::row_vector(const std::string& name, const Part& part) {
  std::vector<float> values = loader_.vector(name, part.weight);
  values.resize(static_cast<std::size_t>(part.rows()), 0.0f);
  if (part.product.row_order.empty()) return values;
  std::vector<float> ordered;
  for (const std::int32_t row : part.product.row_order) ordered.push_back(values[static_cast<std::size_t>(row)]);
  return ordered;
}

// W' = m (W + scale B A), with rows of length m: arXiv:2402.09353. The factors are those of W x, B takes its own.
std::vector<float> AdapterReading::apply_dora(const Part& part, const std::vector<float>& a,
                                              const backend::WeightSource& b, Expand& expand) {
  const std::string name = spec_.names.in_file(part.module + kMagnitude);
  std::vector<float> magnitudes = row_vector(part.module + kMagnitude, part);
  kept.note(name, magnitudes);
  kept.note(b);
  magnitudes = of_rows(magnitudes, part.own);
  std::vector<float> made = backend::source_values(WeightLoader::with_range(b, part.own));
  const double scale = files_.config.scale(spec_.names.in_file(part.module));
  expand.factor.assign(magnitudes.size(), 1.0f);
  const auto rank = static_cast<std::size_t>(b.cols);
  std::vector<float> base(static_cast<std::size_t>(part.base.k()));
  for (std::size_t row = 0; row < magnitudes.size(); ++row) {
    part.base.unpack_row(part.first_row + static_cast<std::int64_t>(row), base.data());
    const std::span<float> b_row = std::span(made).subspan(row * rank, rank);
    const double length = dora_row_length(base, a, b_row, scale);
    if (length == 0.0 && magnitudes[row] == 0.0f) continue;  // a row of zeros that loading adds
    expand.factor[row] = static_cast<float>(magnitudes[row] / length);
    for (float& value : b_row) value *= expand.factor[row];
  }
  check_finite(name, expand.factor);
  return made;
}

void AdapterReading::add_low_rank(backend::LowRankSource& source, const Part& part, Expand& expand) {
  const std::int64_t rank = rank_of(part.module, part.module + kMatrixA, part.module + kMatrixB), padding = rank % 2;
  const bool dora = loader_.has(part.module + kMagnitude);
  if (files_.config.dora() && !dora) {
    throw_load_error(ErrorCode::kBadFile, part.module, "{}: use_dora is set, but module '{}' has no {}", files_.path,
                     part.module, kMagnitude.substr(1));
  }
  const AdapterType type = type_for(part.base);
  const double scale = files_.config.scale(spec_.names.in_file(part.module));
  const auto [at, is_new] = shrinks_.emplace(part.module, ReadA{std::ssize(source.shrinks), {}});
  if (is_new) {
    const BlockWeight a{.role = part.weight.role,
                        .name = part.module,
                        .rows = rank,
                        .cols = part.weight.cols,
                        .column_turns = part.weight.column_turns,
                        .zero_rows = padding,
                        .zero_cols = part.weight.zero_cols};
    const backend::WeightSource read =
        with_columns(loader_.linear(part.module + kMatrixA, a), part.product.column_order);
    const bool int8 = type == AdapterType::kInt8 && read.cols % 32 == 0;
    kept.note(fmt::format("{} {} {} {}", part.module, rank, scale, name_of(type)));
    source.shrinks.push_back(
        {kept.keep(read, int8 ? *quant::find_format("q8_0") : dense_format(part.base)), static_cast<float>(scale)});
    if (dora) at->second.values = backend::source_values(read);
    count(part.base, rank);
  }
  BlockWeight b = part.weight;
  b.name = part.module;
  b.cols = rank;
  b.column_turns = {};
  b.zero_cols = padding;
  const backend::WeightSource read =
      WeightLoader::with_rows(loader_.linear(part.module + kMatrixB, b), part.product.row_order);
  const quant::QuantFormat& format =
      type == AdapterType::kInt8 && rank % 16 == 0 ? *quant::find_format("int8_16") : dense_format(part.base);
  expand.shrink = at->second.number;
  if (dora) {
    std::vector<float> made = apply_dora(part, at->second.values, read, expand);
    expand.b = kept.keep_made(f32_matrix(read.name, part.own.size(), read.cols, std::move(made)), format);
  } else {
    expand.b = kept.keep(read, format, part.own);
  }
}

backend::WeightSource AdapterReading::difference(const backend::WeightSource& rows, const backend::Linear& base,
                                                 std::int64_t first_row) const {
  backend::WeightSource source{
      .name = rows.name, .format = quant::find_format("f32"), .rows = rows.rows, .cols = rows.cols, .read = {}};
  source.read = [&base, rows, first_row](std::int64_t first, std::int64_t n, std::span<std::byte> out) {
    std::vector<float> own(static_cast<std::size_t>(rows.cols));
    for (std::int64_t r = 0; r < n; ++r) {
      std::vector<float> values = backend::source_row(rows, first + r);
      base.unpack_row(first_row + first + r, own.data());
      for (std::size_t i = 0; i < own.size(); ++i) values[i] -= own[i];
      std::memcpy(out.data() + static_cast<std::size_t>(r) * own.size() * sizeof(float), values.data(),
                  own.size() * sizeof(float));
    }
  };
  return source;
}

void AdapterReading::add_whole(backend::LowRankSource& source, const Part& part) {
  const std::string name = spec_.names.in_file(part.module + kWhole);
  if (part.weight.unit_rows || (part.product.roles.empty() && spec_.unit_head)) {
    throw_load_error(ErrorCode::kUnsupported, name, "{}: tensor '{}': rows of this weight are made unit vectors",
                     files_.path, name);
  }
  WeightLoader& loader = part.product.roles.empty() ? loader_ : whole_;  // the head is never turned
  loader_.mark_used(part.module + kWhole);
  const backend::WeightSource whole =
      WeightLoader::with_rows(with_columns(loader.linear(part.module + kWhole, part.weight), part.product.column_order),
                              part.product.row_order);
  kept.note(fmt::format("{} whole {} {}", part.module, part.stacked, name_of(type_for(part.base))));
  kept.note(whole);
  count(part.base, 0);
  if (part.own.size() == 0) return;
  const backend::WeightSource own = difference(WeightLoader::with_range(whole, part.own), part.base, part.first_row);
  source.expands.push_back(
      {.stacked = part.stacked, .shrink = Expand::kInput, .b = kept.keep_made(own, dense_format(part.base))});
}

void AdapterReading::add_biases(const Part& part, Expand& expand) {
  const bool in_base = loader_.has(part.module + kBaseBias);
  if (in_base || loader_.has(part.module + kBias)) {
    expand.bias = row_vector(part.module + (in_base ? kBaseBias : kBias), part);
    expand.replaces_bias = true;
    count(part.base, 0);
  }
  if (files_.config.lora_bias() && loader_.has(part.module + kMatrixA) && !loader_.has(part.module + kBiasOfB)) {
    throw_load_error(ErrorCode::kBadFile, part.module, "{}: lora_bias is set, but module '{}' has no {}", files_.path,
                     part.module, kBiasOfB.substr(1));
  }
  if (loader_.has(part.module + kBiasOfB)) {
    expand.bias.resize(static_cast<std::size_t>(part.rows()), 0.0f);
    const std::vector<float> values = row_vector(part.module + kBiasOfB, part);
    const auto scale = static_cast<float>(files_.config.scale(spec_.names.in_file(part.module)));
    for (std::size_t i = 0; i < values.size(); ++i) expand.bias[i] += scale * values[i];
  }
  if (expand.bias.empty()) return;
  kept.note(fmt::format("{} bias {}", part.module, expand.replaces_bias));
  kept.note(spec_.names.in_file(part.module + kBias), expand.bias);
  expand.bias = of_rows(expand.bias, part.own);
}

void AdapterReading::add_part(backend::LowRankSource& source, const Part& part) {
  Expand expand{.stacked = part.stacked};
  if (loader_.has(part.module + kMatrixA)) add_low_rank(source, part, expand);
  add_biases(part, expand);
  if (expand.b.rows > 0 || !expand.bias.empty()) source.expands.push_back(std::move(expand));  // not without own rows
  if (loader_.has(part.module + kWhole)) add_whole(source, part);
}

ExpertMatrices AdapterReading::read_experts(const Part& part, std::vector<float>& scales) {
  const std::int64_t experts = part.weight.experts;
  const ExpertShape shape{experts, part.weight.tensor_rows(), part.weight.cols};
  const auto note = [&](const std::string& module, std::int64_t rank) {
    const double scale = files_.config.scale(spec_.names.in_file(module));
    kept.note(fmt::format("{} {} {} {}", module, rank, scale, name_of(type_for(part.base))));
    return static_cast<float>(scale);
  };
  if (part.module.find("[]") == std::string::npos) {
    if (!loader_.has(part.module + kMatrixA)) return {};
    const std::int64_t rank = rank_of(part.module, part.module + kMatrixA, part.module + kMatrixB, experts);
    scales.assign(static_cast<std::size_t>(experts), note(part.module, rank));
    const StackedForm form = form_of_stack(files_, spec_, part.module, shape, part.weight.inputs_first);
    return read_stacked(loader_, part.module, shape, rank, form);
  }
  std::vector<std::int64_t> ranks;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::string module = WeightLoader::expert_name(part.module, e);
    ranks.push_back(loader_.has(module + kMatrixA) ? rank_of(module, module + kMatrixA, module + kMatrixB) : 0);
  }
  const std::int64_t most = std::ranges::max(ranks);
  if (most == 0) return {};
  ExpertMatrices made = no_matrices(shape, most);
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::string module = WeightLoader::expert_name(part.module, e);
    const std::int64_t rank = ranks[static_cast<std::size_t>(e)];
    scales.push_back(rank == 0 ? 0.0f : note(module, rank));
    if (rank > 0) read_expert(loader_, module, shape, rank, e, made);
  }
  return made;
}

void AdapterReading::add_experts(backend::LowRankSource& source, const Part& part) {
  const std::int64_t experts = part.weight.experts;
  std::vector<float> scales;
  ExpertMatrices read = read_experts(part, scales);
  if (read.rank == 0) return;
  if (files_.config.dora()) {
    throw_load_error(ErrorCode::kUnsupported, "use_dora",
                     "{}: use_dora is set: DoRA of experts ('{}') is not supported", files_.path, part.module);
  }
  const auto matrix = [&](std::string_view end, std::int64_t rows, std::int64_t cols, std::vector<float> values) {
    backend::WeightSource all = f32_matrix(spec_.names.in_file(part.module + end), rows, cols, std::move(values));
    all.experts = experts;
    return all;
  };
  const auto [at, is_new] = shrinks_.emplace(part.module, ReadA{std::ssize(source.shrinks), {}});
  if (is_new) {
    const bool int8 = type_for(part.base) == AdapterType::kInt8 && part.weight.cols % 32 == 0;
    const quant::QuantFormat& format = int8 ? *quant::find_format("q8_0") : dense_format(part.base);
    backend::WeightSource a = kept.keep(matrix(kMatrixA, read.rank, part.weight.cols, std::move(read.a)), format);
    a.factors = std::move(scales);
    source.shrinks.push_back({std::move(a), 1.0f});
    count(part.base, read.rank);
  }
  std::vector<float> b;
  for (std::int64_t e = 0; e < experts; ++e) {
    for (std::int64_t i = 0; i < part.weight.rows; ++i) {
      const auto row = (e * part.weight.tensor_rows() + tensor_row(part.weight, i)) * read.rank;
      b.insert(b.end(), read.b.begin() + row, read.b.begin() + row + read.rank);
    }
  }
  backend::WeightSource own =
      kept.keep(matrix(kMatrixB, part.weight.rows, read.rank, std::move(b)), dense_format(part.base), part.own);
  if (part.own.size() == 0) return;
  source.expands.push_back({.stacked = part.stacked, .shrink = at->second.number, .b = std::move(own)});
}

void AdapterReading::add(const Product& product, std::span<const BlockWeight* const> stacked, std::int64_t layer) {
  backend::LowRankSource source{.base = product.weight.get()};
  shrinks_.clear();
  std::int64_t first_row = 0;
  for (std::size_t i = 0; i < stacked.size(); first_row += product.ranges[i++].size()) {
    if (stacked[i] == nullptr) continue;
    const std::string module = WeightLoader::layer_name(stacked[i]->name, layer);
    const Part part{product,   *product.weight,  static_cast<std::int64_t>(i), *stacked[i], module,
                    first_row, product.ranges[i]};
    if (stacked[i]->experts > 0) {
      add_experts(source, part);
    } else if (has(module)) {
      add_part(source, part);
    }
  }
  if (source.expands.empty()) return;
  places.push_back(product.place);
  sources.push_back(std::move(source));
}

AdapterReading::ChangedRows AdapterReading::changed_rows(const backend::Linear& linear, const std::string& module) {
  const std::string name = module + kRowsOfTokens, in_file = spec_.names.in_file(name);
  const std::vector<std::int64_t> indices = files_.config.token_indices(spec_.names.in_file(module));
  const backend::WeightSource rows = loader_.linear(name, std::ssize(indices), spec_.embedding_width());
  std::vector<std::size_t> order(indices.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::sort(order, {}, [&](std::size_t i) { return indices[i]; });
  ChangedRows changed;
  std::vector<float> own(static_cast<std::size_t>(linear.k())), ids;
  kept.note(fmt::format("{} rows", module));
  for (const std::size_t i : order) {
    if (indices[i] >= spec_.vocab_size || (!ids.empty() && ids.back() == static_cast<float>(indices[i]))) {
      throw_load_error(ErrorCode::kBadFile, "trainable_token_indices",
                       "{}: trainable_token_indices has {} twice, or beyond the vocabulary of {}", files_.path,
                       indices[i], spec_.vocab_size);
    }
    ids.push_back(static_cast<float>(indices[i]));  // numbers of tokens, all of which f32 holds
    const std::vector<float> values = backend::source_row(rows, static_cast<std::int64_t>(i));
    kept.note(in_file, values);
    if (indices[i] < vocabulary_.first || indices[i] >= vocabulary_.last) continue;
    changed.ids.push_back(static_cast<std::int32_t>(indices[i] - vocabulary_.first));
    linear.unpack_row(changed.ids.back(), own.data());
    for (std::size_t c = 0; c < own.size(); ++c) changed.values.push_back(values[c] - own[c]);
  }
  kept.note(in_file, ids);
  count(linear, 0);
  return changed;
}

void AdapterReading::add_embedding(const backend::Linear& linear) {
  const std::string& module = spec_.names.embedding;
  const std::string a_name = module + kEmbeddingA, b_name = module + kEmbeddingB;
  const std::int64_t width = spec_.embedding_width();
  const quant::QuantFormat& format = dense_format(linear);
  backend::RowDeltaSource source{.base = &linear};
  if (loader_.has(a_name)) {
    const std::int64_t rank = rank_of(module, a_name, b_name), padded = rank + rank % 2;
    const double scale = files_.config.scale(spec_.names.in_file(module));
    const std::vector<float> a = backend::source_values(loader_.linear(a_name, rank, spec_.vocab_size));
    std::vector<float> turned(static_cast<std::size_t>(spec_.vocab_size * padded));
    for (std::size_t i = 0; i < a.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / spec_.vocab_size,
                 token = static_cast<std::int64_t>(i) % spec_.vocab_size;
      turned[static_cast<std::size_t>(token * padded + row)] = a[i];
    }
    kept.note(fmt::format("{} {} {} {}", module, rank, scale, name_of(type_for(linear))));
    source.a = kept.keep(f32_matrix(spec_.names.in_file(a_name), spec_.vocab_size, padded, std::move(turned)), format,
                         vocabulary_);
    const BlockWeight b{.role = "token_embd", .name = module, .rows = width, .cols = rank, .zero_cols = padded - rank};
    source.b = kept.keep(loader_.linear(b_name, b), format);
    source.scale = static_cast<float>(scale);
    changes_embedding = true;
    count(linear, rank);
  }
  if (loader_.has(module + kWhole)) {
    kept.note(fmt::format("{} whole {}", module, name_of(type_for(linear))));
    const backend::WeightSource whole = loader_.linear(module + kWhole, spec_.vocab_size, width);
    kept.note(whole);
    source.d = kept.keep_made(difference(WeightLoader::with_range(whole, vocabulary_), linear, 0), format);
    changes_embedding = true;
    count(linear, 0);
  } else if (loader_.has(module + kRowsOfTokens)) {
    ChangedRows changed = changed_rows(linear, module);
    source.d = f32_matrix(spec_.names.in_file(module + kRowsOfTokens), std::ssize(changed.ids), width,
                          std::move(changed.values));
    source.ids = std::move(changed.ids);
    changes_embedding = true;
  }
  if (source.a.rows > 0 || source.d.rows > 0) of_embedding.push_back(std::move(source));
}

// The rows are an A whose results are added to their outputs.
void AdapterReading::add_changed_rows(const backend::Linear& linear, const std::string& module,
                                      backend::LowRankSource& source) {
  ChangedRows changed = changed_rows(linear, module);
  if (changed.ids.empty()) return;
  const std::int64_t rank = std::ssize(changed.ids) + std::ssize(changed.ids) % 2, width = linear.k();
  changed.values.resize(static_cast<std::size_t>(rank * width), 0.0f);
  source.shrinks.push_back(
      {f32_matrix(spec_.names.in_file(module + kRowsOfTokens), rank, width, std::move(changed.values)), 1.0f});
  source.expands.push_back({.stacked = 0, .shrink = std::ssize(source.shrinks) - 1, .outputs = std::move(changed.ids)});
}

void AdapterReading::add_head(const backend::Linear& linear, bool tied) {
  const std::string& module = spec_.names.head;
  const BlockWeight weight{.role = "output", .name = module, .rows = spec_.vocab_size, .cols = spec_.embedding_width()};
  backend::LowRankSource source{.base = &linear};
  shrinks_.clear();
  const Product outside;
  if (has(module)) add_part(source, {outside, linear, 0, weight, module, 0, vocabulary_});
  const std::string& changed = tied ? spec_.names.embedding : module;
  if (loader_.has(changed + kRowsOfTokens)) add_changed_rows(linear, changed, source);
  if (source.expands.empty()) return;
  places.push_back(kHeadPlace);
  sources.push_back(std::move(source));
}

void AdapterReading::pass_copy(const std::string& module, WeightLoader& base, const std::string& base_name) {
  const std::string name = module + kBaseWeight;
  if (!loader_.has(name)) return;
  const std::int64_t rows = spec_.vocab_size, cols = spec_.embedding_width();
  const backend::WeightSource copy = loader_.linear(name, rows, cols), own = base.linear(base_name, rows, cols);
  double squares = 0.0, difference = 0.0;
  for (std::int64_t row = 0; row < rows; row += std::max<std::int64_t>(1, rows / kComparedRows)) {
    const std::vector<float> a = backend::source_row(copy, row), b = backend::source_row(own, row);
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

}  // namespace millrace::model

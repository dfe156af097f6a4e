#include "model/weight_loader.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/log.h"
#include "model/file_names.h"
#include "model/weights/plain_weights.h"

namespace millrace::model {
namespace {

using checkpoint::RawTensor;

constexpr double kLeastLength = 1e-12;  // of a row that is made a unit vector

// Reads the rows of that order: with one read where they lie near each other, else run by run.
void read_rows(const std::function<void(std::int64_t, std::int64_t, std::span<std::byte>)>& read, std::size_t row_bytes,
               std::span<const std::int32_t> order, std::span<std::byte> out) {
  const auto [low, high] = std::ranges::minmax(order);
  const std::int64_t span = high - low + 1;
  if (span <= 2 * std::ssize(order)) {
    std::vector<std::byte> rows(static_cast<std::size_t>(span) * row_bytes);
    read(low, span, rows);
    for (std::size_t i = 0; i < order.size(); ++i) {
      std::memcpy(out.data() + i * row_bytes, rows.data() + static_cast<std::size_t>(order[i] - low) * row_bytes,
                  row_bytes);
    }
    return;
  }
  for (std::size_t i = 0; i < order.size();) {
    std::size_t n = 1;
    while (i + n < order.size() && order[i + n] == order[i] + static_cast<std::int32_t>(n)) ++n;
    read(order[i], static_cast<std::int64_t>(n), out.subspan(i * row_bytes, n * row_bytes));
    i += n;
  }
}

// The columns of the heads of a group side by side.
backend::WeightSource with_columns_of_groups(backend::WeightSource source, const HeadTurns& turns) {
  if (!source.columns.empty() || turns.size % source.format->block_values != 0) {
    throw_load_error(ErrorCode::kUnsupported, source.name,
                     "tensor '{}', stored as {}, has its columns in blocks or an order that cut heads of {} apart",
                     source.name, source.format->name, turns.size);
  }
  const std::size_t row = source.format->row_bytes(source.cols), head = source.format->row_bytes(turns.size);
  source.read = [read = std::move(source.read), turns, cols = source.cols, row, head](
                    std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    std::vector<std::byte> stored(static_cast<std::size_t>(count) * row);
    read(first, count, stored);
    for (std::size_t at = 0; at < stored.size(); at += head) {
      const auto column = static_cast<std::int64_t>(at % row / head) * turns.size;
      const auto place = static_cast<std::size_t>(turns.place(column, cols) / turns.size);
      std::memcpy(out.data() + at, stored.data() + at / row * row + place * head, head);
    }
  };
  return source;
}

// The matrix with rows and columns of zeros behind its own.
backend::WeightSource with_zeros(backend::WeightSource source, std::int64_t zero_rows, std::int64_t zero_cols) {
  if (zero_cols > 0 && (!source.columns.empty() || source.format->block_values != 1)) {
    throw_load_error(ErrorCode::kUnsupported, source.name,
                     "tensor '{}' has {} columns, stored as {}; an odd number is only supported as f32, f16 or bf16",
                     source.name, source.cols, source.format->name);
  }
  const std::size_t stored_row = source.format->row_bytes(source.cols);
  const std::size_t row = source.format->row_bytes(source.cols + zero_cols);
  source.read = [read = std::move(source.read), rows = source.rows, stored_row, row](
                    std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    std::ranges::fill(out, std::byte{0});
    const std::int64_t stored = std::clamp<std::int64_t>(rows - first, 0, count);
    std::vector<std::byte> values(static_cast<std::size_t>(stored) * stored_row);
    if (stored > 0) read(first, stored, values);
    for (std::size_t r = 0; r < static_cast<std::size_t>(stored); ++r) {
      std::memcpy(out.data() + r * row, values.data() + r * stored_row, stored_row);
    }
  };
  source.rows += zero_rows;
  source.cols += zero_cols;
  return source;
}

// The factors of experts that are stored apart, or in one stack.
std::vector<float> factors_of(const std::vector<std::shared_ptr<const StoredWeight>>& stored) {
  if (stored.size() == 1) return stored.front()->factors;
  std::vector<float> factors;
  for (const auto& weight : stored) factors.push_back(weight->factors.empty() ? 1.0f : weight->factors.front());
  return std::ranges::all_of(factors, [](float f) { return f == 1.0f; }) ? std::vector<float>() : factors;
}

// One value for each row of the weight, of those of the tensor's rows.
std::vector<float> rows_of(const BlockWeight& weight, const std::vector<float>& all) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < weight.rows; ++i) values.push_back(all[static_cast<std::size_t>(tensor_row(weight, i))]);
  return values;
}

}  // namespace

std::string WeightLoader::layer_name(const std::string& pattern, std::int64_t layer) {
  const std::size_t at = pattern.find("{}");
  return at == std::string::npos ? pattern : pattern.substr(0, at) + std::to_string(layer) + pattern.substr(at + 2);
}

void WeightLoader::use(const RawTensor& tensor) {
  if (used_.insert(tensor.name).second) bytes_used_ += tensor.bytes;
}

std::uint64_t WeightLoader::bytes() const noexcept {
  std::uint64_t all = 0;
  for (const RawTensor& tensor : checkpoint_.tensors) all += tensor.bytes;
  for (const checkpoint::IntegerTensor& integers : checkpoint_.integers) all += integers.tensor.bytes;
  return all;
}

std::string WeightLoader::expert_name(const std::string& pattern, std::int64_t expert) {
  const std::size_t at = pattern.find("[]");
  return at == std::string::npos ? pattern : pattern.substr(0, at) + std::to_string(expert) + pattern.substr(at + 2);
}

std::shared_ptr<const StoredWeight> WeightLoader::open(const std::string& file_name, const MatrixShape& shape) {
  std::weak_ptr<const StoredWeight>& known = opened_[file_name];
  std::shared_ptr<const StoredWeight> weight = known.lock();
  if (weight) return weight;
  weight = weights_.open(file_name, shape);
  known = weight;
  for (const RawTensor* tensor : weight->tensors) use(*tensor);
  return weight;
}

backend::WeightSource WeightLoader::linear(const std::string& name, std::int64_t rows, std::int64_t cols,
                                           bool transposed) {
  const std::string file_name = spec_.names.in_file(name);
  const auto weight = open(file_name, {.rows = rows, .cols = cols, .inputs_first = transposed});
  backend::WeightSource source{.name = file_name, .format = weight->format, .rows = rows, .cols = cols, .read = {}};
  source.read = [weight](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    weight->read(first, count, out);
  };
  source.columns = weight->columns;
  source.factors = weight->factors;
  return source;
}

backend::WeightSource WeightLoader::linear(const std::string& name, const BlockWeight& weight) {
  backend::WeightSource source = of_file(name, weight);
  if (weight.zero_rows > 0 || weight.zero_cols > 0) {
    source = with_zeros(std::move(source), weight.zero_rows, weight.zero_cols);
  }
  const quant::QuantFormat* target = quantization_.of_weight(weight, source.format);
  return quantized_source(std::move(source), target, importance(name, weight));
}

ColumnImportance WeightLoader::importance(const std::string& name, const BlockWeight& weight) const {
  return quantization_.importance == nullptr ? nullptr : importance_of(*quantization_.importance, name, weight);
}

backend::WeightSource WeightLoader::outer(const std::string& name, std::int64_t rows, std::int64_t cols) {
  backend::WeightSource source = linear(name, rows, cols);
  const quant::QuantFormat* target = quantization_.of_outer(cols, source.format);
  return quantized_source(std::move(source), target);
}

backend::WeightSource WeightLoader::of_file(const std::string& name, const BlockWeight& weight) {
  backend::WeightSource source = linear(name, weight.tensor_rows(), weight.cols, spec_.transposed_linears);
  source.rows = weight.rows;
  if (!weight.slice.whole()) source.name += " " + weight.role;
  if (!weight.column_turns.in_order()) source = with_columns_of_groups(std::move(source), weight.column_turns);
  if (weight.slice.whole() && weight.rotated_head == 0 && weight.row_turns.in_order()) return source;
  std::vector<std::int32_t> order;
  for (std::int64_t i = 0; i < weight.rows; ++i) order.push_back(static_cast<std::int32_t>(tensor_row(weight, i)));
  return with_rows(std::move(source), std::move(order));
}

backend::WeightSource WeightLoader::experts(const std::string& name, const BlockWeight& weight) {
  const bool apart = name.find("[]") != std::string::npos;
  const std::string file_name = spec_.names.in_file(name);
  const MatrixShape shape{.rows = weight.tensor_rows(),
                          .cols = weight.cols,
                          .inputs_first = weight.inputs_first,
                          .experts = apart ? 0 : weight.experts};
  std::vector<std::shared_ptr<const StoredWeight>> stored;
  for (std::int64_t e = 0; e < (apart ? weight.experts : 1); ++e) {
    stored.push_back(open(expert_name(file_name, e), shape));
    if (!stored.back()->columns.empty() || stored.back()->format != stored.front()->format) {
      throw_load_error(ErrorCode::kUnsupported, expert_name(file_name, e),
                       "tensor '{}' has another format than other experts, or columns in an order of its own, which "
                       "is not supported of experts",
                       expert_name(file_name, e));
    }
  }
  backend::WeightSource source{.name = weight.slice.whole() ? file_name : file_name + " " + weight.role,
                               .format = stored.front()->format,
                               .rows = weight.rows,
                               .cols = weight.cols,
                               .read = {},
                               .experts = weight.experts,
                               .factors = factors_of(stored)};
  source.read = [stored, slice = weight.slice, rows = weight.rows, of = weight.tensor_rows(),
                 row_bytes = source.format->row_bytes(weight.cols)](std::int64_t first, std::int64_t count,
                                                                    std::span<std::byte> out) {
    const std::int64_t expert = first / rows, local = first % rows;  // all of one expert
    const StoredWeight& from = *stored[stored.size() == 1 ? 0 : static_cast<std::size_t>(expert)];
    const std::int64_t base = stored.size() == 1 ? expert * of : 0;
    if (slice.whole()) return from.read(base + local, count, out);
    std::vector<std::int32_t> order;
    for (std::int64_t i = local; i < local + count; ++i) order.push_back(static_cast<std::int32_t>(slice.row(i)));
    const auto read = [&](std::int64_t row, std::int64_t n, std::span<std::byte> to) { from.read(base + row, n, to); };
    read_rows(read, row_bytes, order, out);
  };
  return quantized_source(std::move(source), quantization_.of_weight(weight, stored.front()->format),
                          importance(name, weight));
}

std::vector<float> WeightLoader::expert_vectors(const std::string& name, const BlockWeight& weight) {
  const std::vector<float> all =
      read(require_tensor(checkpoint_, spec_.names.in_file(name), Shape{weight.experts, weight.tensor_rows()}));
  std::vector<float> values;
  for (std::int64_t e = 0; e < weight.experts; ++e) {
    for (std::int64_t i = 0; i < weight.rows; ++i) {
      values.push_back(all[static_cast<std::size_t>(e * weight.tensor_rows() + weight.slice.row(i))]);
    }
  }
  return values;
}

backend::WeightSource WeightLoader::with_rows(backend::WeightSource source, std::vector<std::int32_t> order) {
  if (order.empty()) return source;
  const std::size_t row_bytes = source.format->row_bytes(source.cols);
  source.read = [read = source.read, row_bytes, order = std::move(order)](std::int64_t first, std::int64_t count,
                                                                          std::span<std::byte> out) {
    read_rows(read, row_bytes,
              std::span(order).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)), out);
  };
  return source;
}

backend::WeightSource WeightLoader::with_range(backend::WeightSource source, const RowRange& range) {
  if (range == RowRange{0, source.rows}) return source;
  source.read = [read = std::move(source.read), range, all = source.rows](std::int64_t first, std::int64_t count,
                                                                          std::span<std::byte> out) {
    const std::int64_t expert = first / range.size(), local = first % range.size();  // all of one expert
    read(expert * all + range.first + local, count, out);
  };
  source.rows = range.size();
  return source;
}

backend::WeightSource WeightLoader::with_unit_rows(backend::WeightSource source) {
  backend::WeightSource unit = source;
  unit.format = quant::find_format("f32");
  unit.factors.clear();
  unit.read = [source = std::move(source)](std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    std::vector<std::byte> stored(static_cast<std::size_t>(count) * source.format->row_bytes(source.cols));
    source.read(first, count, stored);
    std::vector<float> values(static_cast<std::size_t>(count * source.cols));
    source.format->unpack(stored.data(), values);
    if (!source.factors.empty() && source.factors.front() < 0.0f)
      std::ranges::transform(values, values.begin(), std::negate());
    const auto cols = static_cast<std::size_t>(source.cols);
    for (std::size_t at = 0; at < values.size(); at += cols) {
      double squares = 0.0;
      for (std::size_t i = at; i < at + cols; ++i) squares += static_cast<double>(values[i]) * values[i];
      const double length = std::max(std::sqrt(squares), kLeastLength);
      for (std::size_t i = at; i < at + cols; ++i) values[i] = static_cast<float>(values[i] / length);
    }
    std::memcpy(out.data(), values.data(), values.size() * sizeof(float));
  };
  return unit;
}

std::vector<float> WeightLoader::vector(const std::string& name, std::int64_t n) {
  const RawTensor* found = checkpoint_.find(spec_.names.in_file(name));
  if (n == 1 && found != nullptr && found->shape.rank() == 0) return read(*found);  // a number
  if (found != nullptr && found->shape == Shape{1, n}) return read(*found);
  return read(require_tensor(checkpoint_, spec_.names.in_file(name), Shape{n}));
}

std::vector<float> WeightLoader::read(const RawTensor& tensor) {
  use(tensor);
  std::vector<std::byte> raw(tensor.bytes);
  checkpoint_.read(tensor, 0, raw).or_throw();
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  tensor.format->unpack(raw.data(), values);
  return values;
}

std::vector<float> WeightLoader::head_vector(const std::string& name, const BlockWeight& weight) {
  std::vector<float> all;
  if (const std::size_t at = name.find("[]"); at != std::string::npos) {
    const auto of_head = [&](std::int64_t head) {
      return name.substr(0, at) + std::to_string(head) + name.substr(at + 2);
    };
    for (std::int64_t head = 0; std::ssize(all) < weight.rows; ++head) {
      const std::vector<float> one = vector(of_head(head), weight.head_rows);
      all.insert(all.end(), one.begin(), one.end());
    }
  } else {
    const RawTensor* tensor = checkpoint_.find(spec_.names.in_file(name));
    const bool by_head = tensor != nullptr && tensor->shape == Shape{weight.rows / weight.head_rows, weight.head_rows};
    all = by_head ? read(*tensor) : vector(name, weight.rows);
  }
  return rows_of(weight, all);
}

std::vector<float> WeightLoader::vector(const std::string& name, const BlockWeight& weight) {
  return rows_of(weight, vector(name, weight.tensor_rows()));
}

void WeightLoader::mark_all_used(std::string_view beginning) {
  for (const RawTensor& tensor : checkpoint_.tensors) {
    if (tensor.name.starts_with(beginning)) used_.insert(tensor.name);
  }
  for (const checkpoint::IntegerTensor& integers : checkpoint_.integers) {
    if (integers.tensor.name.starts_with(beginning)) used_.insert(integers.tensor.name);
  }
}

void WeightLoader::mark_layer_used(std::int64_t layer) {
  const std::string number = fmt::format(".{}.", layer);
  std::set<std::string> beginnings;
  for (const BlockSpec& block : spec_.layers[static_cast<std::size_t>(layer)].blocks) {
    for (const BlockWeight& weight : block_weights(block, spec_, in_layer(layer))) {
      const std::string name = spec_.names.in_file(layer_name(weight.tensor(), layer));
      const std::size_t at = name.find(number);
      beginnings.insert(at == std::string::npos ? name.substr(0, name.rfind('.') + 1)
                                                : name.substr(0, at + number.size()));
    }
  }
  for (const std::string& beginning : beginnings) mark_all_used(beginning);
}

// Each with its bias, its scales, and whatever else belongs to it.
void WeightLoader::mark_outer_used() {
  for (const BlockWeight& weight : outer_weights(spec_)) {
    const std::string name = spec_.names.in_file(weight.tensor());
    mark_all_used(std::string_view(name).substr(0, name.rfind('.') + 1));
  }
}

void WeightLoader::check_all_used() const {
  std::map<std::string, int> left;  // tensors by the pattern that ignores them
  const auto check = [&](const RawTensor& tensor) {
    if (used_.contains(tensor.name)) return;
    for (const std::string& pattern : spec_.names.ignored) {
      if (!matches_pattern(pattern, tensor.name)) continue;
      ++left[pattern];
      return;
    }
    throw_load_error(ErrorCode::kBadFile, tensor.name,
                     "{}: tensor '{}' {} is not part of a {} model of this configuration", checkpoint_.path,
                     tensor.name, tensor.shape.to_string(), spec_.family);
  };
  for (const RawTensor& tensor : checkpoint_.tensors) check(tensor);
  for (const checkpoint::IntegerTensor& integers : checkpoint_.integers) check(integers.tensor);
  for (const auto& [pattern, tensors] : left) {
    log::info("{}: {} tensors {} are left alone: the model of text does without", checkpoint_.path, tensors, pattern);
  }
}

}  // namespace millrace::model

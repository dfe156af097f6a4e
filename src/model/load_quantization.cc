#include "model/load_quantization.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/checksum.h"
#include "model/weights/weight_reader.h"
#include "quant/group_format.h"
#include "quant/searched_rounding.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using quant::QuantFormat;

// Of linear weights, and what is taken where columns are no whole blocks of it.
struct Choice {
  std::string_view name, linears, fallback;
};
constexpr Choice kChoices[] = {
    {"q8_0", "q8_0", ""},
    {"w8a8", "int8_row", ""},
    {"int8", "int8_row", ""},
    {"q6_k", "q6_k", "q8_0"},
    {"q5_k", "q5_k", "q5_1"},
    {"q4_k", "q4_k", "q5_0"},
    {"q4_0", "q4_0", ""},
    {"q4_1", "q4_1", ""},
    {"int4-g64", "int4_g64m", "int4_g32m"},
    {"int4-g128", "int4_g128m", "int4_g32m"},
    {"nf4", "nf4_g64", "nf4_g32"},
    {"mxfp4", "mxfp4", ""},
    {"fp8", "e4m3_g128", "e4m3_g32"},
};
constexpr std::string_view kOuter = "q8_0";
// Part of the names under which packed weights are kept: to be raised when rounding changes.
constexpr int kRoundingVersion = 2;

// Methods and formats whose weights loading may change.
bool is_float(std::string_view stored) {
  return stored == "f32" || stored == "f16" || stored == "bf16" || stored == "fp8" || stored == "fbgemm_fp8";
}

// Weights in more bits than any of these formats, or in FP8, whose groups are no integers.
bool may_change(const QuantFormat& stored) {
  const quant::GroupSpec* spec = quant::group_spec(stored);
  return stored.block_values == 1 || (spec != nullptr && spec->codes == quant::GroupCodes::kE4m3);
}

const QuantFormat* fitting(const QuantFormat* wanted, std::string_view fallback, std::int64_t cols,
                           const QuantFormat* stored) {
  if (wanted == nullptr || !may_change(*stored) || wanted == stored) return stored;
  if (cols % wanted->block_values == 0) return wanted;
  const QuantFormat* other = quant::find_any_format(fallback);
  return other != nullptr && cols % other->block_values == 0 ? other : stored;
}

}  // namespace

const QuantFormat* LoadQuantization::of_weight(const BlockWeight& weight, const QuantFormat* stored) const {
  if (weight.exact || weight.unit_rows || weight.cols == 0) return stored;
  const auto* choice = std::ranges::find(kChoices, name, &Choice::name);
  return fitting(linears, choice == std::end(kChoices) ? "" : choice->fallback, weight.cols + weight.zero_cols, stored);
}

const QuantFormat* LoadQuantization::of_outer(std::int64_t cols, const QuantFormat* stored) const {
  return fitting(outer, "", cols, stored);
}

std::uint64_t LoadQuantization::key(std::uint64_t checkpoint) const {
  if (linears == nullptr) return checkpoint;
  std::uint64_t sum = checksum(fmt::format("{} {} {}", linears->name, outer->name, kRoundingVersion), checkpoint);
  if (importance == nullptr) return sum;
  for (const auto& [entry, means] : importance->means) {
    sum = checksum(std::as_bytes(std::span(means)), checksum(entry, sum));
  }
  return sum;
}

std::vector<std::string_view> load_quantizations() {
  std::vector<std::string_view> names;
  for (const Choice& choice : kChoices) names.push_back(choice.name);
  return names;
}

bool is_quantization(std::string_view name) {
  const auto is_choice = [&](const Choice& choice) { return choice.name == name; };
  const auto is_method = [&](const WeightReaderKind& kind) { return kind.method == name; };
  return name.empty() || std::ranges::any_of(kChoices, is_choice) ||
         std::ranges::any_of(all_weight_readers(), is_method);
}

namespace {

// The method, or the formats of its matrices: "gptq", "q4_k, q6_k".
std::string stored_as(const Checkpoint& checkpoint) {
  const checkpoint::JsonFields fields(checkpoint.config.file, checkpoint.config.json);
  if (const auto quantization = fields.object(checkpoint::kQuantizationField)) {
    return quantization->text("quant_method").value_or("gptq");
  }
  std::set<std::string_view> formats;
  for (const checkpoint::RawTensor& tensor : checkpoint.tensors) {
    if (tensor.shape.rank() > 1) formats.insert(tensor.format->name);
  }
  return fmt::format("{}", fmt::join(formats, ", "));
}

bool has_changeable(const Checkpoint& checkpoint) {
  return std::ranges::any_of(checkpoint.tensors, [](const checkpoint::RawTensor& tensor) {
    return tensor.shape.rank() > 1 && tensor.format->block_values == 1;
  });
}

}  // namespace

Result<LoadQuantization> choose_load_quantization(const std::string& name, const Checkpoint& checkpoint) {
  if (name.empty()) return LoadQuantization{};
  const std::string stored = stored_as(checkpoint);
  if (stored == name) return LoadQuantization{};
  const auto* choice = std::ranges::find(kChoices, name, &Choice::name);
  if (choice == std::end(kChoices) || !has_changeable(checkpoint) ||
      (!is_float(stored) && stored.find(',') == std::string::npos)) {
    return make_error(
        ErrorCode::kInvalidArgument, "quantization",
        "quantization is '{}': {} is stored as {}, which loading does not change; leave it out, or load a "
        "checkpoint in f32, f16, bf16 or fp8",
        name, checkpoint.path, stored);
  }
  return LoadQuantization{name, quant::find_any_format(choice->linears), quant::find_any_format(kOuter)};
}

namespace {

// What rounding one row takes of the importance of all experts' columns, in the order of the source's columns.
std::span<const float> of_row(const ColumnImportance& importance, const backend::WeightSource& source,
                              std::int64_t row) {
  if (importance == nullptr) return {};
  const auto cols = static_cast<std::size_t>(source.cols);
  const std::size_t expert = importance->size() == cols ? 0 : static_cast<std::size_t>(row / source.rows);
  return std::span(*importance).subspan(expert * cols, cols);
}

ColumnImportance in_order(const ColumnImportance& importance, const std::vector<std::int32_t>& columns) {
  if (importance == nullptr || columns.empty()) return importance;
  std::vector<float> ordered(importance->size());
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const std::size_t column = i % columns.size();
    ordered[i] = (*importance)[i - column + static_cast<std::size_t>(columns[column])];
  }
  return std::make_shared<const std::vector<float>>(std::move(ordered));
}

}  // namespace

backend::WeightSource quantized_source(backend::WeightSource source, const QuantFormat* target,
                                       ColumnImportance importance) {
  if (source.format == target) return source;
  backend::WeightSource rounded = source;
  rounded.format = target;
  rounded.name += fmt::format(" as {} (rounding {})", target->name, kRoundingVersion);
  importance = in_order(importance, source.columns);
  if (importance != nullptr) {
    rounded.name += fmt::format(" (importance {:016x})", checksum(std::as_bytes(std::span(*importance))));
  }
  rounded.read = [source = std::move(source), target, importance = std::move(importance)](
                     std::int64_t first, std::int64_t count, std::span<std::byte> out) {
    std::vector<std::byte> stored(static_cast<std::size_t>(count) * source.format->row_bytes(source.cols));
    source.read(first, count, stored);
    std::vector<float> row(static_cast<std::size_t>(source.cols));
    const std::size_t from = source.format->row_bytes(source.cols), to = target->row_bytes(source.cols);
    for (std::size_t r = 0; r < static_cast<std::size_t>(count); ++r) {
      source.format->unpack(stored.data() + r * from, row);
      const auto counts = of_row(importance, source, first + static_cast<std::int64_t>(r));
      quant::pack_searched(*target, row, counts, out.data() + r * to);
    }
  };
  return rounded;
}

}  // namespace millrace::model

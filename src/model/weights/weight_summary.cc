#include "model/weights/weight_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/lower_case.h"
#include "checkpoint/gguf_file_type.h"
#include "model/weights/weight_maker.h"

namespace millrace::model {
namespace {

using checkpoint::Checkpoint;
using checkpoint::RawTensor;

// "AWQ gemm", or the type that a GGUF file says it has.
std::string method_of(const Checkpoint& checkpoint) {
  if (checkpoint.config.gguf) {
    const checkpoint::GgufValue* type = checkpoint.config.metadata.find("general.file_type");
    const auto* number = type == nullptr ? nullptr : std::get_if<std::uint32_t>(type);
    return std::string(number == nullptr ? "" : checkpoint::file_type_name(*number));
  }
  const WeightReaderKind* reader = find_reader(checkpoint);
  if (reader == nullptr) return {};
  const nlohmann::json& quantization = checkpoint.config.json.at(std::string(checkpoint::kQuantizationField));
  const auto variant = quantization.find(std::string(reader->variant));
  const bool named = variant != quantization.end() && variant->is_string();
  return std::string(reader->title) + (named ? " " + variant->get<std::string>() : std::string());
}

bool is_quantized(const MatrixInfo& matrix) { return !matrix.coding.text.empty() || matrix.format->block_values > 1; }

// The matrices by how they are stored, those with most values first. The names of their tensors go to `counted`.
std::vector<WeightPart> parts_of(const CheckpointWeights& weights, std::set<std::string>& counted) {
  std::map<std::pair<std::string, bool>, WeightPart> parts;
  for (const MatrixInfo& matrix : weights.matrices()) {
    const std::string stored = matrix.coding.text.empty() ? std::string(matrix.format->name) : matrix.coding.text;
    WeightPart& part = parts[{stored, matrix.coding.as_f32}];
    if (part.matrices++ == 0) part.example = fmt::format("'{}' [{}, {}]", matrix.name, matrix.rows, matrix.cols);
    part.stored = stored;
    part.quantized = is_quantized(matrix);
    part.as_f32 = matrix.coding.as_f32;
    part.values += matrix.rows * matrix.cols;
    for (const RawTensor* tensor : matrix.tensors) {  // stacks of experts are those of many matrices
      if (counted.insert(tensor->name).second) part.bytes += tensor->bytes;
    }
  }
  std::vector<WeightPart> sorted;
  for (auto& [kind, part] : parts) sorted.push_back(std::move(part));
  std::ranges::stable_sort(sorted, std::greater<>(), &WeightPart::values);
  return sorted;
}

// Biases, norms and the like. What has one value only is a scale that nothing here reads.
WeightPart vectors_of(const Checkpoint& checkpoint, const std::set<std::string>& counted) {
  WeightPart vectors{.stored = "vectors"};
  for (const RawTensor& tensor : checkpoint.tensors) {
    if (counted.contains(tensor.name) || tensor.shape.elements() <= 1) continue;
    vectors.values += tensor.shape.elements();
    vectors.bytes += tensor.bytes;
  }
  return vectors;
}

}  // namespace

double WeightSummary::bits_per_weight() const noexcept {
  return parameters == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(parameters);
}

std::string WeightSummary::format() const {
  std::string text;
  std::vector<std::string_view> told;
  const bool quantized = std::ranges::any_of(parts, &WeightPart::quantized);
  for (const WeightPart& part : parts) {
    if (part.matrices == 0 || part.quantized != quantized) continue;
    if (std::ranges::find(told, part.stored) != told.end()) continue;  // some of them as f32
    told.push_back(part.stored);
    text += (text.empty() ? "" : " + ") + part.stored;
  }
  if (text.empty() || lower_case(method) == text) return method;
  return method.empty() ? text : method + ": " + text;
}

std::string WeightSummary::computed_as_f32() const {
  std::int64_t matrices = 0, all = 0;
  std::string kinds, example;
  for (const WeightPart& part : parts) {
    if (part.quantized) all += part.matrices;
    if (!part.as_f32) continue;
    matrices += part.matrices;
    kinds += (kinds.empty() ? "" : " and ") + part.stored;
    if (example.empty()) example = part.example;
  }
  if (matrices == 0) return {};
  return fmt::format(
      "{} of {} quantized matrices are computed as f32, slowly, as no kernel takes {} in so many columns: {}{}",
      matrices, all, kinds, example, matrices > 1 ? " and others" : "");
}

WeightSummary summarize_weights(const Checkpoint& checkpoint, const CheckpointWeights& weights) {
  WeightSummary summary{.method = method_of(checkpoint),
                        .maker = weight_maker(checkpoint),
                        .calibration = weight_calibration(checkpoint)};
  std::set<std::string> counted;
  summary.parts = parts_of(weights, counted);
  if (WeightPart vectors = vectors_of(checkpoint, counted); vectors.values > 0) {
    summary.parts.push_back(std::move(vectors));
  }
  for (const WeightPart& part : summary.parts) summary.parameters += part.values;
  for (const RawTensor& tensor : checkpoint.tensors) summary.bytes += tensor.bytes;
  for (const checkpoint::IntegerTensor& integers : checkpoint.integers) summary.bytes += integers.tensor.bytes;
  return summary;
}

}  // namespace millrace::model

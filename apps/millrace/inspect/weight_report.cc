#include "inspect/weight_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Checkpoint;
using checkpoint::RawTensor;

// The matrix that is the embedding, in one tensor or several; null: unknown.
const model::MatrixInfo* find_embedding(const model::ModelSpec& spec, const model::CheckpointWeights& weights) {
  const std::string name = spec.names.in_file(spec.names.embedding) + ".weight";
  const auto all = weights.matrices();
  const auto found = std::ranges::find(all, name, &model::MatrixInfo::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace

Json describe_formats(const Checkpoint& checkpoint) {
  struct Count {
    std::int64_t tensors = 0, values = 0;
    std::uint64_t bytes = 0;
  };
  std::map<std::string_view, Count> counts;
  const auto add = [&](std::string_view format, const RawTensor& tensor) {
    Count& count = counts[format];
    ++count.tensors;
    count.values += tensor.shape.elements();
    count.bytes += tensor.bytes;
  };
  for (const RawTensor& tensor : checkpoint.tensors) add(tensor.format->name, tensor);
  for (const checkpoint::IntegerTensor& integers : checkpoint.integers) add("integers", integers.tensor);
  Json formats = Json::array();
  for (const auto& [name, count] : counts) {
    formats.push_back({{"format", name}, {"tensors", count.tensors}, {"values", count.values}, {"bytes", count.bytes}});
  }
  std::sort(formats.begin(), formats.end(), [](const Json& a, const Json& b) {
    return a["bytes"] != b["bytes"] ? a["bytes"] > b["bytes"] : a["format"] < b["format"];
  });
  return formats;
}

Json describe_parameters(const Checkpoint& checkpoint, const StoredModel* stored) {
  if (stored != nullptr) {
    const model::WeightSummary& summary = stored->summary;
    const model::MatrixInfo* embedding = find_embedding(stored->spec, stored->weights);
    return {{"total", summary.parameters},
            {"without_embedding",
             embedding == nullptr ? Json(nullptr) : Json(summary.parameters - embedding->rows * embedding->cols)},
            {"bytes", summary.bytes}};
  }
  std::int64_t total = 0;
  std::uint64_t bytes = 0;
  for (const RawTensor& tensor : checkpoint.tensors) {
    total += tensor.shape.elements();
    bytes += tensor.bytes;
  }
  return {{"total", total}, {"without_embedding", nullptr}, {"bytes", bytes}};
}

Json describe_weights(const model::WeightSummary& summary) {
  Json parts = Json::array();
  for (const model::WeightPart& part : summary.parts) {
    parts.push_back(
        {{"stored", part.stored}, {"matrices", part.matrices}, {"values", part.values}, {"bytes", part.bytes}});
  }
  const auto or_null = [](const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); };
  return {{"format", summary.format()},
          {"method", or_null(summary.method)},
          {"bits_per_weight", summary.bits_per_weight()},
          {"maker", or_null(summary.maker)},
          {"calibration", or_null(summary.calibration)},
          {"computed_as_f32", or_null(summary.computed_as_f32())},
          {"parts", std::move(parts)}};
}

Json list_tensors(const Checkpoint& checkpoint) {
  Json list = Json::array();
  for (const RawTensor& tensor : checkpoint.tensors) {
    std::vector<std::int64_t> shape;
    for (int i = 0; i < tensor.shape.rank(); ++i) shape.push_back(tensor.shape[i]);
    list.push_back({{"name", tensor.name},
                    {"format", tensor.format->name},
                    {"shape", shape},
                    {"bytes", tensor.bytes},
                    {"file", checkpoint.files[static_cast<std::size_t>(tensor.file)]->path()},
                    {"offset", tensor.offset}});
  }
  return list;
}

}  // namespace millrace::app

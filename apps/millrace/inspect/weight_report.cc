#include "inspect/weight_report.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "model/weights/checkpoint_weights.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;
using checkpoint::Checkpoint;
using checkpoint::RawTensor;

// Quantized matrices count as what they stand for, not as the scales and codes that they are made of.
std::int64_t values_of_quantized(const Checkpoint& checkpoint, const model::CheckpointWeights& weights) {
  std::int64_t total = 0;
  for (const auto& matrix : weights.matrices()) total += matrix.rows * matrix.cols;
  for (const RawTensor& tensor : checkpoint.tensors) {
    if (tensor.shape.rank() != 2) total += tensor.shape.elements();
  }
  return total;
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

Json describe_parameters(const Checkpoint& checkpoint, const model::ModelSpec* spec,
                         const model::CheckpointWeights* weights) {
  std::int64_t total = 0;
  std::uint64_t bytes = 0;
  for (const RawTensor& tensor : checkpoint.tensors) {
    total += tensor.shape.elements();
    bytes += tensor.bytes;
  }
  for (const checkpoint::IntegerTensor& integers : checkpoint.integers) bytes += integers.tensor.bytes;
  if (spec != nullptr && !checkpoint.integers.empty()) total = values_of_quantized(checkpoint, *weights);
  const RawTensor* embedding =
      spec == nullptr ? nullptr : checkpoint.find(spec->names.in_file(spec->names.embedding) + ".weight");
  return {{"total", total},
          {"without_embedding", embedding == nullptr ? Json(nullptr) : Json(total - embedding->shape.elements())},
          {"bytes", bytes}};
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

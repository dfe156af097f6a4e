#include "model/weight_errors.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "model/block.h"
#include "model/weight_loader.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kRowsAtOnce = 64;

// A matrix that can be opened: by its place in the model, which is the same for both.
using Open = std::function<backend::WeightSource(WeightLoader&)>;
using Places = std::map<std::string, Open>;

void add_layer(const ModelSpec& spec, const WeightLoader& loader, std::size_t index, Places& places) {
  const auto named = [&](const std::string& pattern) {
    return WeightLoader::layer_name(pattern, static_cast<std::int64_t>(index));
  };
  const auto has = [&](const std::string& pattern) {
    const std::string first = WeightLoader::expert_name(named(pattern), 0);
    return loader.has(first + ".weight") || loader.has(first);
  };
  const std::vector<BlockSpec>& blocks = spec.layers[index].blocks;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const BlockWeight& weight : block_weights(blocks[b], spec, has)) {
      if (weight.cols == 0) continue;
      const std::string name = named(weight.tensor());
      places[fmt::format("{:05}.{:02}.{}", index, b, weight.role)] = [=](WeightLoader& from) {
        return weight.experts > 0 ? from.experts(name, weight) : from.linear(name, weight);
      };
    }
  }
}

Places places_of(const ModelSpec& spec, const WeightLoader& loader) {
  Places places;
  const auto outer = [&](const std::string& place, const std::string& name) {
    places[place] = [=, &spec](WeightLoader& from) {
      return from.outer(name + ".weight", spec.vocab_size, spec.embedding_width());
    };
  };
  outer("embedding", spec.names.embedding);
  if (!spec.tied_head) outer("head", spec.names.head);
  for (std::size_t i = 0; i < spec.layers.size(); ++i) add_layer(spec, loader, i, places);
  return places;
}

// Rows [first, first + count), with columns in the order of the matrix.
std::vector<float> values_of(const backend::WeightSource& source, std::int64_t first, std::int64_t count) {
  std::vector<std::byte> stored(static_cast<std::size_t>(count) * source.format->row_bytes(source.cols));
  std::vector<float> values(static_cast<std::size_t>(count * source.cols));
  source.read(first, count, stored);
  source.format->unpack(stored.data(), values);
  if (source.columns.empty()) return values;
  std::vector<float> ordered(values.size());
  const auto cols = static_cast<std::size_t>(source.cols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    ordered[i / cols * cols + static_cast<std::size_t>(source.columns[i % cols])] = values[i];
  }
  return ordered;
}

float factor_of(const backend::WeightSource& source, std::int64_t row) {
  if (source.factors.empty()) return 1.0f;
  return source.factors[source.factors.size() == 1 ? 0 : static_cast<std::size_t>(row / source.rows)];
}

WeightError compare(const backend::WeightSource& own, const backend::WeightSource& reference) {
  if (own.rows != reference.rows || own.cols != reference.cols || own.experts != reference.experts) {
    throw_load_error(ErrorCode::kInvalidArgument, own.name, "tensor '{}' is [{}, {}], of the reference [{}, {}]",
                     own.name, own.rows, own.cols, reference.rows, reference.cols);
  }
  WeightError error{.name = own.name, .format = own.format, .values = own.rows * own.experts * own.cols};
  double difference = 0.0, length = 0.0;
  for (std::int64_t first = 0, count = 0; first < own.rows * own.experts; first += count) {
    count = std::min(kRowsAtOnce, own.rows - first % own.rows);  // not beyond an expert's rows
    const std::vector<float> a = values_of(own, first, count), b = values_of(reference, first, count);
    const double of_a = factor_of(own, first), of_b = factor_of(reference, first);
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double expected = of_b * b[i], apart = std::fabs(of_a * a[i] - expected);
      difference += apart * apart;
      length += expected * expected;
      error.largest = std::max(error.largest, apart);
    }
  }
  error.relative = length > 0.0 ? std::sqrt(difference / length) : difference > 0.0 ? INFINITY : 0.0;
  return error;
}

}  // namespace

std::vector<WeightError> weight_errors(const ModelWeights& model, const ModelWeights& reference) {
  WeightLoader own(model.checkpoint, model.spec, model.quantization);
  WeightLoader other(reference.checkpoint, reference.spec, reference.quantization);
  const Places places = places_of(model.spec, own), known = places_of(reference.spec, other);
  std::vector<WeightError> errors;
  for (const auto& [place, open] : places) {
    const auto found = known.find(place);
    if (found == known.end()) {
      throw_load_error(ErrorCode::kInvalidArgument, "reference", "{}: the reference has no weight {}",
                       reference.checkpoint.path, place);
    }
    errors.push_back(compare(open(own), found->second(other)));
  }
  return errors;
}

}  // namespace millrace::model

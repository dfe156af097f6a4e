#include "model/quantization_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/readable_bytes.h"
#include "model/matrix_places.h"

namespace millrace::model {
namespace {

constexpr std::int64_t kSampledRows = 8;  // of each matrix
// Those that auto chooses from: of two with as many bits, the one that loses less.
constexpr std::string_view kCandidates[] = {"", "q8_0", "q6_k", "q5_k", "q4_k", "int4-g128"};

struct ErrorSum {
  double difference = 0.0, length = 0.0;
};

void sample(const backend::WeightSource& exact, const backend::WeightSource& rounded, ErrorSum& sum) {
  const std::int64_t count = std::min(kSampledRows, exact.rows), first = (exact.rows - count) / 2;
  const auto values = [&](const backend::WeightSource& source) {
    std::vector<std::byte> stored(static_cast<std::size_t>(count) * source.format->row_bytes(source.cols));
    std::vector<float> out(static_cast<std::size_t>(count * source.cols));
    source.read(first, count, stored);
    source.format->unpack(stored.data(), out);
    return out;
  };
  const std::vector<float> a = values(exact), b = values(rounded);
  // As many values as the matrix has.
  const double weight = static_cast<double>(exact.rows * exact.experts) / static_cast<double>(count);
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum.difference += weight * (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    sum.length += weight * static_cast<double>(a[i]) * a[i];
  }
}

double sampled_error(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                     const LoadQuantization& quantization) {
  if (quantization.linears == nullptr) return 0.0;
  WeightLoader exact(checkpoint, spec), rounded(checkpoint, spec, quantization);
  ErrorSum sum;
  for (const MatrixPlace& place : matrix_places(spec, exact)) sample(place.open(exact), place.open(rounded), sum);
  return sum.length > 0.0 ? std::sqrt(sum.difference / sum.length) : 0.0;
}

}  // namespace

std::vector<std::string> QuantizationChoices::table() const {
  std::vector<std::string> lines = {fmt::format("{:<12} {:>10} {:>10} {:>10}", "format", "weights", "total", "error")};
  for (const QuantizationChoice& choice : all) {
    const auto readable = [](std::uint64_t bytes) { return readable_bytes(static_cast<double>(bytes)); };
    lines.push_back(fmt::format("{:<12} {:>10} {:>10} {:>9.3f}% {}",
                                choice.quantization.name.empty() ? "as stored" : choice.quantization.name,
                                readable(choice.plan.weights), readable(choice.plan.total()), 100.0 * choice.error,
                                &choice == best ? "taken"
                                : choice.fits   ? "fits"
                                                : "too large"));
  }
  return lines;
}

QuantizationChoices choose_quantization(const checkpoint::Checkpoint& checkpoint, const ModelSpec& spec,
                                        const backend::Backend& backend, MemoryPlanOptions options,
                                        std::uint64_t memory) {
  const CheckpointWeights weights(checkpoint);
  QuantizationChoices choices;
  for (const std::string_view name : kCandidates) {
    auto quantization = choose_load_quantization(std::string(name), checkpoint);
    if (!quantization) continue;  // stored as something that loading leaves
    options.quantization = *quantization;
    QuantizationChoice choice{*quantization, plan_memory(weights, spec, backend, options),
                              sampled_error(checkpoint, spec, *quantization)};
    choice.fits = choice.plan.total() <= memory;
    choices.all.push_back(std::move(choice));
  }
  std::ranges::stable_sort(choices.all, {}, &QuantizationChoice::error);
  const auto first = std::ranges::find_if(choices.all, &QuantizationChoice::fits);
  choices.best = first == choices.all.end() ? nullptr : &*first;
  return choices;
}

}  // namespace millrace::model

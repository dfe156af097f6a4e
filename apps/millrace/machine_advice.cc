#include "machine_advice.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/readable_bytes.h"

namespace millrace::app {
namespace {

constexpr double kBesideWeights = 1.5e9;         // keys and values as serve has them, activations, the program
constexpr double kReadingTokensPerSecond = 8.0;  // about as fast as people read

struct Quantization {
  const char* name;
  double bytes_per_parameter;
};
constexpr Quantization kQuantizations[] = {{"Q8", 1.07}, {"Q4", 0.57}};
struct ModelSize {
  double billions, active;
};
constexpr ModelSize kModelSizes[] = {{106.0, 12.0}, {70.0, 70.0}, {32.0, 32.0},  {30.0, 3.0},
                                     {21.0, 3.6},   {14.0, 14.0}, {8.0, 8.0},    {4.0, 4.0},
                                     {1.7, 1.7},    {0.6, 0.6},   {0.135, 0.135}};

std::string text_of(const ModelFit& fit) {
  return fmt::format(
      "{:g}B{} in {} ({}{})", fit.billions,
      fit.active_billions < fit.billions ? fmt::format(" with {:g}B active", fit.active_billions) : "",
      fit.quantization, readable_bytes(fit.bytes),
      fit.tokens_per_second > 0.0 ? fmt::format(", at most {:.0f} tokens/s", fit.tokens_per_second) : "");
}

}  // namespace

std::vector<ModelFit> fitting_models(double memory, double read_gb_s) {
  std::vector<ModelFit> fits;
  for (const ModelSize& size : kModelSizes) {
    for (const Quantization& quantization : kQuantizations) {
      const double weights = size.billions * 1e9 * quantization.bytes_per_parameter;
      if (weights + kBesideWeights > memory) continue;
      fits.push_back(
          {.billions = size.billions,
           .active_billions = size.active,
           .quantization = quantization.name,
           .bytes = weights + kBesideWeights,
           .tokens_per_second = read_gb_s > 0.0 ? read_gb_s * 1e9 / weights * size.billions / size.active : 0.0});
    }
  }
  return fits;
}

std::vector<std::string> machine_advice(double memory, double read_gb_s) {
  std::vector<std::string> out;
  const std::vector<ModelFit> fits = fitting_models(memory, read_gb_s);
  if (fits.empty()) {
    out.push_back(fmt::format("no common model fits: {} are available, and even the smallest takes {}",
                              readable_bytes(memory), readable_bytes(kBesideWeights)));
    return out;
  }
  out.push_back(fmt::format("the largest model that fits: {}", text_of(fits.front())));
  const auto fast =
      std::ranges::find_if(fits, [](const ModelFit& fit) { return fit.tokens_per_second >= kReadingTokensPerSecond; });
  if (fast == fits.end()) {
    out.push_back("none of them answers as fast as people read: take the smallest, or a faster machine");
  } else if (fast != fits.begin()) {
    out.push_back(fmt::format("the largest that answers about as fast as people read: {}", text_of(*fast)));
  }
  const double room = memory - (fast == fits.end() ? fits.back() : *fast).bytes;
  if (room > 2e9) {
    out.push_back(fmt::format(
        "for many users at once, give serve more keys and values: --kv-cache-memory-bytes {:.0f}GB", 1.0 + room / 2e9));
  }
  return out;
}

std::vector<std::string> speed_advice(const sched::StepCost& cost, double typical_error, const std::string& model) {
  constexpr int kMin = 4, kMax = 256;  // requests at once that are worth a recommendation
  sched::StepWork token, prompt;
  token.add(1, 0);
  token.samples = 1;
  prompt.add(1000, 0);
  prompt.samples = 1;
  std::vector<std::string> out;
  if (const double ms = cost.milliseconds(token); ms > 0.0) {
    out.push_back(fmt::format("one request gets about {:.0f} tokens/s; a prompt of 1000 tokens takes about {:.1f} s",
                              1e3 / ms, cost.milliseconds(prompt) / 1e3));
  }
  // Until then a step of more requests takes no longer: it waits for the weights anyway. Not so where each request
  // reads experts of its own.
  if (cost.token_ms > 0.0 && cost.reads.experts == 0.0) {
    const int together = static_cast<int>(std::min(cost.weights_ms / cost.token_ms, 1e6));
    out.push_back(
        fmt::format("up to {} requests at once share the time of reading the weights: use --max-num-seqs {} where "
                    "fast answers matter more than many",
                    std::max(together, 1), std::clamp(2 * together, kMin, kMax)));
  }
  if (typical_error > 0.2) {
    out.push_back(fmt::format("the steps differ by {:.0f} % from that: measure again while nothing else runs",
                              100.0 * typical_error));
  }
  out.push_back(
      fmt::format("to predict a load: millrace doctor --model-speed {} > profile.json, then millrace simulate "
                  "--model-speed profile.json --workload requests=200,rate=4",
                  model));
  return out;
}

}  // namespace millrace::app

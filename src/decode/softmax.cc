#include "decode/softmax.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "base/portable_math.h"

namespace millrace::decode {
namespace {

constexpr std::size_t kWeightBlock = 256;

namespace baseline {
#include "decode/softmax.inc"
}

#ifdef MILLRACE_X86
#include "backend/cpu/target_avx2.inc"
namespace avx2 {
#include "decode/softmax.inc"
}
#include "backend/cpu/target_end.inc"

#include "backend/cpu/target_avx512.inc"
namespace avx512 {
#include "decode/softmax.inc"
}
#include "backend/cpu/target_end.inc"
#endif

}  // namespace

WeighBlock weigh_block_kernel([[maybe_unused]] Isa isa) noexcept {
#ifdef MILLRACE_X86
  if (isa >= Isa::kAvx512Vnni) return avx512::weigh_block;
  if (isa >= Isa::kAvx2) return avx2::weigh_block;
#endif
  return baseline::weigh_block;
}

double log_sum_exp(std::span<const float> logits) {
  static const WeighBlock weigh = weigh_block_kernel(detect_isa());
  float largest = -std::numeric_limits<float>::infinity();
  bool nan = false;
  for (const float logit : logits) {
    largest = std::max(largest, logit);
    nan |= logit != logit;
  }
  if (nan || !std::isfinite(largest)) return std::numeric_limits<double>::quiet_NaN();
  double total = 0.0, weights[kWeightBlock];
  for (; logits.size() >= kWeightBlock; logits = logits.subspan(kWeightBlock)) {
    total += weigh(logits.data(), largest, weights);
  }
  float rest[kWeightBlock];
  std::fill(std::ranges::copy(logits, rest).out, std::end(rest), -std::numeric_limits<float>::infinity());
  return static_cast<double>(largest) + portable_log(total + weigh(rest, largest, weights));
}

double softmax_weights(const Candidates& candidates, float largest, std::vector<double>& weights) {
  static const WeighBlock weigh = weigh_block_kernel(detect_isa());
  const std::size_t n = candidates.size(), blocks = (n + kWeightBlock - 1) / kWeightBlock;
  weights.resize(blocks * kWeightBlock);
  double total = 0.0;
  float logits[kWeightBlock];
  for (std::size_t begin = 0; begin < n; begin += kWeightBlock) {
    const std::size_t length = std::min(kWeightBlock, n - begin);
    for (std::size_t i = 0; i < length; ++i) logits[i] = candidates[begin + i].logit;
    std::fill(logits + length, logits + kWeightBlock, -std::numeric_limits<float>::infinity());
    total += weigh(logits, largest, weights.data() + begin);
  }
  weights.resize(n);
  return total;
}

// -sum p log p, with p = w / total and log w the logit less the largest.
double entropy_nats(const Candidates& candidates, std::vector<double>& weights) {
  const float largest = largest_logit(candidates);
  const double total = softmax_weights(candidates, largest, weights);
  double lanes[8] = {};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    lanes[i % 8] += weights[i] * (static_cast<double>(candidates[i].logit) - static_cast<double>(largest));
  }
  const double sum = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) + ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  return portable_log(total) - sum / total;
}

}  // namespace millrace::decode

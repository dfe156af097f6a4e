#include "decode/mirostat.h"

#include <vector>

#include "base/portable_math.h"
#include "decode/softmax.h"

namespace millrace::decode {

double mirostat_after(const SamplingParams& params, double mu, const Candidates& row, std::int32_t token) {
  std::vector<double> weights;
  const double total = softmax_weights(row, largest_logit(row), weights);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].token != token || weights[i] <= 0.0) continue;
    const double surprise_bits = portable_log(total / weights[i]) * kLog2e;
    return mu - params.mirostat_eta * (surprise_bits - params.mirostat_tau);
  }
  return mu;
}

}  // namespace millrace::decode

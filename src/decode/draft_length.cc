#include "decode/draft_length.h"

namespace millrace::decode {

// (1 - a^(n + 1)) / (1 - a) as the sum that it is, which a = 1 does not divide by 0.
double expected_tokens(double acceptance, int length) {
  double sum = 1.0, power = 1.0;
  for (int i = 0; i < length; ++i) sum += power *= acceptance;
  return sum;
}

int best_draft_length(double acceptance, double cost_ratio, int most) {
  int best = 0;
  double best_rate = 1.0, tokens = 1.0, power = 1.0;
  for (int length = 1; length <= most; ++length) {
    tokens += power *= acceptance;
    const double rate = tokens / (static_cast<double>(length) * cost_ratio + 1.0);
    if (rate > best_rate) best = length, best_rate = rate;
  }
  return best;
}

}  // namespace millrace::decode

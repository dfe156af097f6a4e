#include "decode/candidates.h"

namespace millrace::decode {

void apply_temperature(double temperature, Candidates& candidates) {
  if (temperature == 1.0) return;
  const auto inverse = static_cast<float>(1.0 / temperature);
  for (Candidate& c : candidates) c.logit *= inverse;
}

}  // namespace millrace::decode

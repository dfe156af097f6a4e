#include "simulator/campaign.h"

#include <utility>

#include "base/counter_rng.h"

namespace millrace::simulator {

void Campaign::add(Outcome outcome) {
  ++runs;
  steps += outcome.steps;
  requests += outcome.requests;
  output_tokens += outcome.output_tokens;
  virtual_hours += outcome.virtual_seconds / 3600.0;
  digest = rng::mix(digest ^ outcome.digest) + static_cast<std::uint64_t>(runs);
  coverage.add(outcome.coverage);
  if (outcome.violation) violated.push_back(std::move(outcome));
}

}  // namespace millrace::simulator

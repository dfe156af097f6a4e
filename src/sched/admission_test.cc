#include "sched/admission.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace::sched {
namespace {

// Step by step: everybody grows by one token, and leaves when there is nothing left to add.
std::int64_t simulated_peak(std::vector<PeakDemand> demands) {
  std::int64_t peak = 0;
  while (!demands.empty()) {
    std::int64_t held = 0;
    for (const PeakDemand& demand : demands) held += demand.held;
    peak = std::max(peak, held);
    std::erase_if(demands, [](const PeakDemand& demand) { return demand.remaining == 0; });
    for (PeakDemand& demand : demands) {
      ++demand.held;
      --demand.remaining;
    }
  }
  return peak;
}

TEST(PredictedPeak, IsWhatHappensStepByStep) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    std::vector<PeakDemand> demands(random() % 8);
    for (PeakDemand& demand : demands) {
      demand = {.held = static_cast<std::int64_t>(random() % 50),
                .remaining = static_cast<std::int64_t>(random() % 40)};
    }
    EXPECT_EQ(predicted_peak(demands), simulated_peak(demands));
  }
}

TEST(PeakEstimate, AgreesWithThePeakOfTheWholeSet) {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<PeakDemand> demands;
    PeakEstimate estimate;
    estimate.assign(demands);
    for (int i = 0; i < 12; ++i) {
      const PeakDemand demand{.held = static_cast<std::int64_t>(random() % 50),
                              .remaining = static_cast<std::int64_t>(random() % 10)};
      demands.push_back(demand);
      std::vector<PeakDemand> copy = demands;
      EXPECT_EQ(estimate.peak_with(demand), predicted_peak(copy));
      if (i % 3 == 0) {
        estimate.assign(demands);
      } else {
        estimate.add(demand);
      }
    }
  }
}

}  // namespace
}  // namespace millrace::sched

// F4: of tenants that always wait for something, none is ahead of another by more than the requests of one that can run
// at once: with one place, by one request. (VTC, arXiv:2401.00588, theorem 4.8.)

#include <gtest/gtest.h>

#include <random>

#include "sched/testing/scheduler_harness.h"

namespace millrace::sched {
namespace {

constexpr std::int64_t kLongestPrompt = 200, kLongestAnswer = 60, kShortAnswer = 8;
constexpr double kLargestRequest = kLongestPrompt + 2.0 * kShortAnswer;  // by what tokens are charged and by weight

// Tenant 1 has long prompts, tenant 2 long answers and twice the weight, tenant 3 a little of everything.
TestRequest request_of(std::uint32_t tenant, SequenceId id, std::mt19937& random) {
  TestRequest request{.id = id, .tenant = tenant};
  request.prompt = tenant == 1 ? kLongestPrompt : 1 + static_cast<std::int64_t>(random() % 20);
  request.answer = tenant == 2 ? kLongestAnswer : 1 + static_cast<std::int64_t>(random() % kShortAnswer);
  return request;
}

class FairShare : public testing::TestWithParam<std::int64_t> {};

TEST_P(FairShare, NoTenantIsAheadByMoreThanItsRequestsInFlight) {
  const std::int64_t places = GetParam();
  // F1, which lets nobody be bypassed for ever under any policy, would let large requests in before their turn.
  World world({.scheduling = {.max_batched_tokens = 64, .max_sequences = places, .max_bypassed = 1 << 30},
               .policy = "fair",
               .options = {.values = OptionValues().set("tenant_weights", "2=2")},
               .pages = 1024});
  std::mt19937 random(7);
  std::map<std::uint32_t, double> served = {{1, 0.0}, {2, 0.0}, {3, 0.0}};
  SequenceId next = 1;
  double furthest = 0.0;
  for (int step = 0; step < 8000; ++step) {
    for (const auto& [tenant, ignored] : served) {
      const auto waits = std::ranges::count(world.scheduler().waiting(), tenant, &Sequence::tenant);
      for (auto n = waits; n < places + 2; ++n) world.submit(request_of(tenant, next++, random));
    }
    const StepPlan plan = world.launch();
    for (const StepRow& row : plan.rows) {
      const Sequence& s = *row.sequence;
      const std::int64_t prompt = std::clamp<std::int64_t>(s.prompt_tokens - row.first, 0, row.n_tokens);
      served[s.tenant] += (static_cast<double>(prompt) + (row.samples() ? 2.0 : 0.0)) / (s.tenant == 2 ? 2.0 : 1.0);
    }
    world.commit();
    const auto [least, most] = std::ranges::minmax({served[1], served[2], served[3]});
    furthest = std::max(furthest, most - least);
    ASSERT_LE(most - least, static_cast<double>(places) * kLargestRequest) << "step " << step;
  }
  EXPECT_GT(furthest, 0.0);
  EXPECT_GT(std::ranges::min({served[1], served[2], served[3]}), 10.0 * kLargestRequest);
}

INSTANTIATE_TEST_SUITE_P(Places, FairShare, testing::Values(1, 3, 8));

}  // namespace
}  // namespace millrace::sched

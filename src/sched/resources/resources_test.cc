// What admission does with a list of resources: the generated ones, and one that only this test has.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "sched/testing/scheduler_harness.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kLimitedTenant = 1;
constexpr std::int64_t kSeats = 2, kMaxTokens = 100;

// At most kSeats sequences of kLimitedTenant at once, none of which may grow to more than kMaxTokens.
class TenantSeats final : public AdmissionResource {
 public:
  std::optional<Error> never_fits(const Sequence& sequence) const override {
    if (!limited(sequence) || sequence.max_total <= kMaxTokens) return std::nullopt;
    return make_error(ErrorCode::kResourceExhausted, "max_tokens",
                      "the tenant's request may need {} tokens: at most {}", sequence.max_total, kMaxTokens);
  }
  bool begin(const PlanDraft& draft) override {
    taken_ = std::ranges::count_if(draft.members, [](const PlanMember& m) { return limited(*m.place.sequence); });
    return true;
  }
  bool fits(const PlanDraft&, const JoiningSequence& joining) override {
    return !limited(*joining.member.place.sequence) || taken_ < kSeats;
  }
  void commit(const PlanDraft&, const JoiningSequence& joining) override { count(joining.member, 1); }
  void release(const PlanDraft&, const PlanMember& member) override { count(member, -1); }
  void restore(const PlanDraft&, const PlanMember& member) override { count(member, 1); }
  bool relieved_by(const PlanDraft&, const PlanMember& member, const JoiningSequence&) const override {
    return limited(*member.place.sequence);
  }

 private:
  static bool limited(const Sequence& sequence) { return sequence.tenant == kLimitedTenant; }
  void count(const PlanMember& member, std::int64_t seats) { taken_ += limited(*member.place.sequence) ? seats : 0; }

  std::int64_t taken_ = 0;
};

std::vector<AdmissionResourceKind> with_tenant_seats() {
  std::vector<AdmissionResourceKind> kinds(all_resources().begin(), all_resources().end());
  kinds.push_back({.name = "tenant-seats", .order = 150, .make = [](const ResourceContext&) {
                     return std::unique_ptr<AdmissionResource>(std::make_unique<TenantSeats>());
                   }});
  return kinds;
}

std::int64_t seated(World& world) {
  return std::ranges::count(world.scheduler().running(), kLimitedTenant, &Sequence::tenant);
}

TEST(Resources, AreNamedAndAskedInAnOrder) {
  std::set<std::string_view> names;
  std::set<int> orders;
  for (const AdmissionResourceKind& kind : all_resources()) {
    EXPECT_TRUE(names.insert(kind.name).second) << kind.name;
    EXPECT_TRUE(orders.insert(kind.order).second) << kind.name;
  }
  for (const char* name : {"sequence-slots", "batch-tokens", "pages", "window-growth", "predicted-peak", "adapters"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(Resources, AGivenOneLimitsWhatRunsAndOthersPassIt) {
  const auto kinds = with_tenant_seats();
  World world({.policy = "fcfs", .resources = kinds});
  for (SequenceId id = 1; id <= 4; ++id) world.submit({.id = id, .tenant = kLimitedTenant});
  for (SequenceId id = 5; id <= 7; ++id) world.submit({.id = id, .tenant = 2});
  EXPECT_EQ(to_text(world.launch()), "1:16 2:16 5:16 6:16 7:16 +1 +2 +5 +6 +7");
  world.commit();
  for (int step = 0; step < 50 && world.live() > 0; ++step) {
    world.step();
    EXPECT_LE(seated(world), kSeats);
  }
  EXPECT_EQ(world.live(), 0u);
}

TEST(Resources, AGivenOneRejectsWhatItCouldNeverHold) {
  const auto kinds = with_tenant_seats();
  World world({.resources = kinds, .pages = 64});
  world.submit({.id = 1, .prompt = 90, .answer = 11, .tenant = kLimitedTenant});
  world.submit({.id = 2, .prompt = 90, .answer = 11, .tenant = 2});
  world.submit({.id = 3, .prompt = 90, .answer = 10, .tenant = kLimitedTenant});
  world.step();
  ASSERT_EQ(world.rejected.size(), 1u);
  EXPECT_EQ(world.rejected[0].first, 1u);
  EXPECT_EQ(world.rejected[0].second, "the tenant's request may need 101 tokens: at most 100");
  EXPECT_EQ(seated(world), 1);
}

// Pages would suffice for four: the windows of all of them would not fit.
TEST(Resources, WindowsThatWillFillAreCountedBeforeTheyDo) {
  World world({.policy = "fcfs", .block_tokens = 8, .pages = 64, .window = 32, .window_pages = 13});
  for (SequenceId id = 1; id <= 4; ++id) world.submit({.id = id, .prompt = 8, .answer = 60});
  EXPECT_EQ(to_text(world.step()), "1:8 2:8 +1 +2");  // a full window takes five window pages
  for (int step = 0; step < 200 && world.live() > 0; ++step) EXPECT_TRUE(world.step().preempted.empty());
  EXPECT_EQ(world.live(), 0u);
}

// The last in line is of another tenant: preempting it would not help.
TEST(Resources, OnlyThoseThatRelieveALackingOneArePreempted) {
  const auto kinds = with_tenant_seats();
  World world({.policy = "priority", .resources = kinds});
  world.submit({.id = 1, .answer = 30, .priority = 5, .tenant = kLimitedTenant});
  world.submit({.id = 2, .answer = 30, .priority = 6, .tenant = kLimitedTenant});
  world.submit({.id = 3, .answer = 30, .priority = 9, .tenant = 2});
  world.step();
  ASSERT_EQ(world.scheduler().running().size(), 3u);
  world.submit({.id = 4, .priority = 7, .tenant = kLimitedTenant});  // more urgent than no one of its tenant
  EXPECT_EQ(to_text(world.step()), "1:1 2:1 3:1");
  world.submit({.id = 5, .priority = 0, .tenant = kLimitedTenant});
  EXPECT_EQ(to_text(world.step()), "5:16 1:1 3:1 +5 -2");
  EXPECT_EQ(seated(world), kSeats);
}

// The seat would be free, but then no slot is: what was counted as preempted is counted as running again.
TEST(Resources, AVainPreemptionIsTakenBack) {
  const auto kinds = with_tenant_seats();
  World world({.policy = "priority", .resources = kinds, .pages = 8});
  world.submit({.id = 1, .prompt = 40, .answer = 30, .priority = 1, .tenant = kLimitedTenant});
  world.submit({.id = 2, .prompt = 20, .answer = 8, .priority = 6, .tenant = kLimitedTenant});
  world.step();
  ASSERT_EQ(seated(world), kSeats);
  world.submit(
      {.id = 3, .prompt = 90, .answer = 10, .priority = 5, .tenant = kLimitedTenant});         // pages are short for it
  world.submit({.id = 4, .prompt = 4, .answer = 1, .priority = 7, .tenant = kLimitedTenant});  // and the seats for it
  for (int step = 0; step < 3; ++step) EXPECT_EQ(to_text(world.step()), "1:1 2:1");
}

TEST(Resources, ThoseWithoutTheirAdaptersHoldBackNobody) {
  World world({.scheduling = {.max_sequences = 2, .max_bypassed = 3}, .policy = "fcfs"});
  for (SequenceId id = 1; id <= 12; ++id) world.submit({.id = id}).adapters_missing = true;
  EXPECT_TRUE(world.launch().empty());
  for (SequenceId id = 20; id < 30; ++id) world.submit({.id = id});
  for (int step = 0; step < 50 && world.live() > 12; ++step) world.step();
  EXPECT_EQ(world.live(), 12u);
  EXPECT_EQ(world.scheduler().first_in_line(world.view(), 2), (std::vector{&world.at(1), &world.at(2)}));
  world.at(12).adapters_missing = false;
  world.submit({.id = 40});
  EXPECT_EQ(to_text(world.launch()), "12:16 40:16 +12 +40");
}

// Passed too often, it is the first to get its adapters, whatever the policy says of others.
TEST(Resources, ThoseWithoutTheirAdaptersComeToTheFrontOfTheLine) {
  World world({.scheduling = {.max_sequences = 1, .max_bypassed = 3}, .policy = "priority"});
  world.submit({.id = 1, .priority = 9}).adapters_missing = true;
  world.submit({.id = 2, .priority = 1}).adapters_missing = true;
  EXPECT_EQ(world.scheduler().first_in_line(world.view(), 1).front()->id, 2u);
  for (SequenceId id = 3; id < 6; ++id) {
    world.submit({.id = id});
    while (world.live() > 2) world.step();
  }
  world.submit({.id = 7, .priority = 0});
  EXPECT_EQ(world.scheduler().first_in_line(world.view(), 3), (std::vector{&world.at(1), &world.at(2), &world.at(7)}));
}

}  // namespace
}  // namespace millrace::sched

// Random requests, readers and cancellations under every policy and mode; after each plan the invariants that serving
// many rests on.

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "sched/admission.h"
#include "sched/testing/scheduler_harness.h"

namespace millrace::sched {
namespace {

constexpr int kSeeds = 4000;
constexpr int kMaxSteps = 20000;
constexpr std::int32_t kMaxStepsLeftOut = 32;

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  std::int64_t in(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return in(1, 100) <= percent; }

 private:
  std::mt19937_64 engine_;
};

WorldConfig random_config(Random& random, bool windowed) {
  WorldConfig config;
  const auto policies = all_policies();
  config.policy = policies[static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(policies.size()) - 1))].name;
  config.options.values.set("reject_late", random.chance(30) ? 1.0 : 0.0);
  config.options.values.set("starvation_ms", static_cast<double>(random.in(5, 200)));
  const std::int64_t blocks[] = {1, 8, 16, 32};
  config.block_tokens = blocks[random.in(0, 3)];
  config.pages = static_cast<std::int32_t>(random.in(100, 600) / config.block_tokens + 1);
  config.swap = random.chance(40);
  if (windowed) {
    config.window = random.in(1, random.chance(50) ? 20 : 150);
    const std::int32_t least = kv::min_window_pages(config.window, config.block_tokens);
    config.window_pages = least + static_cast<std::int32_t>(random.chance(30) ? 0 : random.in(0, config.pages));
  }
  Config& limits = config.scheduling;
  limits.max_batched_tokens = random.in(1, 100);
  limits.max_sequences = random.in(1, 10);
  limits.long_prefill_tokens = random.chance(30) ? random.in(1, 40) : 0;
  limits.tpot_target_ms = random.chance(30) ? static_cast<double>(random.in(1, 10)) : 0.0;
  limits.batching = static_cast<BatchingMode>(random.chance(70) ? 0 : random.in(1, 2));
  limits.batch_wait_ms = static_cast<double>(random.in(0, 50));
  limits.max_bypassed = static_cast<std::int32_t>(random.in(1, 8));
  limits.max_preemptions = static_cast<std::int32_t>(random.in(1, 4));
  return config;
}

TestRequest random_request(Random& random, SequenceId id) {
  TestRequest request{.id = id, .prompt = random.in(1, random.chance(20) ? 120 : 30), .answer = random.in(1, 40)};
  request.predicted = random.chance(50) ? random.in(1, 40) : request.answer;
  request.max_answer = request.answer + (random.chance(50) ? random.in(0, 40) : 0);
  request.priority = static_cast<int>(random.in(0, 3));
  request.feeds = random.chance(30);
  request.tenant = static_cast<std::uint32_t>(random.in(0, 3));
  request.ttft_target_ms = random.chance(50) ? static_cast<double>(random.in(1, 300)) : 0.0;
  request.tpot_target_ms = random.chance(50) ? static_cast<double>(random.in(1, 20)) : 0.0;
  if (random.chance(20)) request.deadline_ms = static_cast<double>(random.in(10, 1000));
  return request;
}

// What a plan must be, whatever the policy.
class Invariants {
 public:
  Invariants(World& world, const StepPlan& plan) : world_(world), plan_(plan), limits_(world.config().scheduling) {}

  void check() {
    queues();
    rows();
    preemptions();
    progress();
    head();
  }
  // After the step was launched.
  void check_bounds() {
    for (const Sequence* sequence : world_.scheduler().waiting()) {
      ASSERT_LE(sequence->bypassed, limits_.max_bypassed) << "F1";
    }
    for (const Sequence* sequence : world_.scheduler().running()) {
      ASSERT_TRUE(sequence->paused || sequence->starved_steps <= kMaxStepsLeftOut) << "F2";
    }
  }

 private:
  void queues() {
    std::set<SequenceId> seen;
    for (const Sequence* sequence : world_.scheduler().waiting()) {
      ASSERT_TRUE(sequence->state == SequenceState::kWaiting) << "Q1";
      ASSERT_TRUE(seen.insert(sequence->id).second) << "Q1";
    }
    for (const Sequence* sequence : world_.scheduler().running()) {
      ASSERT_TRUE(sequence->state == SequenceState::kRunning) << "Q1";
      ASSERT_TRUE(seen.insert(sequence->id).second) << "Q1";
    }
    for (const Rejection& rejection : plan_.rejected) seen.insert(rejection.sequence->id);
    ASSERT_EQ(seen.size(), world_.live()) << "Q1";
    world_.scheduler().check_integrity();
  }

  void rows() {
    std::set<const Sequence*> takes_part, admitted;
    for (const Admission& admission : plan_.admitted) {
      ASSERT_TRUE(admission.sequence->state == SequenceState::kWaiting && admitted.insert(admission.sequence).second);
    }
    std::int64_t tokens = 0;
    for (const StepRow& row : plan_.rows) {
      const Sequence& sequence = *row.sequence;
      ASSERT_TRUE(takes_part.insert(&sequence).second) << "Q2: twice";
      ASSERT_TRUE(sequence.state == SequenceState::kRunning || admitted.count(&sequence) > 0) << "Q2";
      ASSERT_FALSE(sequence.paused) << "Q2";
      ASSERT_LE(1, row.n_tokens) << "Q2";
      ASSERT_LE(row.first + row.n_tokens, sequence.planned_length()) << "Q2";
      ASSERT_TRUE(limits_.long_prefill_tokens == 0 || row.n_tokens <= limits_.long_prefill_tokens);
      tokens += row.n_tokens;
    }
    ASSERT_LE(tokens, limits_.max_batched_tokens) << "Q2";
    const std::size_t running = world_.scheduler().running().size() + plan_.admitted.size() - plan_.preempted.size();
    ASSERT_LE(running, static_cast<std::size_t>(limits_.max_sequences)) << "Q2";
    const Sequence* oldest = oldest_running();
    if (oldest != nullptr && oldest->remaining() > 0 && limits_.max_batched_tokens > 1 && tokens == 0) {
      ASSERT_GT(world_.flights(), 0u) << "the oldest does not progress";
    }
  }

  const Sequence* oldest_running() const {
    for (const Sequence* sequence : world_.scheduler().running()) {
      if (!sequence->paused) return sequence;
    }
    return nullptr;
  }

  void preemptions() {
    const auto gone = [&](const Sequence* sequence) {
      return std::find(plan_.preempted.begin(), plan_.preempted.end(), sequence) != plan_.preempted.end();
    };
    for (const Sequence* victim : plan_.preempted) {
      ASSERT_EQ(victim->in_flight, 0);
      ASSERT_NE(victim, oldest_running()) << "F3";
      if (victim->preemptions < limits_.max_preemptions) continue;
      for (const Sequence* other : world_.scheduler().running()) {
        if (other == oldest_running() || other->in_flight > 0 || gone(other) || other->blocks.blocks().empty())
          continue;
        ASSERT_GE(other->preemptions, limits_.max_preemptions) << "F3: there was another";
      }
    }
  }

  void progress() {
    bool somebody = false;
    for (const Sequence* sequence : world_.scheduler().waiting()) somebody = somebody || !sequence->paused;
    if (!somebody || !world_.scheduler().running().empty() || !plan_.rejected.empty()) return;
    const auto change = world_.scheduler().next_change();
    if (change && *change > world_.view().now && plan_.empty()) return;
    ASSERT_FALSE(plan_.empty()) << "P1";
  }

  // The head fits, so it is admitted: reckoned anew, the slow way.
  void head() {
    if (limits_.batching != BatchingMode::kContinuous || limits_.tpot_target_ms > 0.0) return;
    if (world_.cache().window() != nullptr) return;  // window pages are reckoned as pages are
    if (!plan_.admitted.empty() || !plan_.preempted.empty() || !plan_.rejected.empty()) return;
    const auto running = world_.scheduler().running();
    if (static_cast<std::int64_t>(running.size()) >= std::min(limits_.max_sequences, limits_.max_batched_tokens))
      return;
    std::int64_t tokens = 0;
    for (const StepRow& row : plan_.rows) tokens += row.n_tokens;
    if (tokens >= limits_.max_batched_tokens) return;
    const Sequence* head = nullptr;
    std::optional<Place> first;
    for (Sequence* sequence : world_.scheduler().waiting()) {
      if (sequence->bypassed >= limits_.max_bypassed) return;
      if (sequence->paused) continue;
      const Place place = place_of(*sequence, world_.scheduler().policy().rank(*sequence, world_.view()));
      if (!first || goes_before(place, *first)) {
        first = place;
        head = sequence;
      }
    }
    if (head == nullptr) return;
    const std::int64_t block = world_.config().block_tokens;
    const auto pages = [&](std::int64_t n) { return (n + block - 1) / block; };
    std::int64_t free = world_.cache().available();
    std::vector<PeakDemand> demands;
    const auto demand = [&](const Sequence& sequence) {
      const std::int64_t left = std::max<std::int64_t>(1, sequence.predicted_output - sequence.output_tokens());
      demands.push_back({pages(sequence.length()) * block, std::min(left, sequence.max_total - sequence.length())});
    };
    for (const Sequence* sequence : running) {
      if (!sequence->paused && sequence->remaining() > 0) {
        free -= world_.cache().needed(sequence->blocks, sequence->scheduled, sequence->scheduled + 1);
        std::int64_t chunk = sequence->remaining();
        if (limits_.long_prefill_tokens > 0) chunk = std::min(chunk, limits_.long_prefill_tokens);
        const bool whole = std::any_of(plan_.rows.begin(), plan_.rows.end(), [&](const StepRow& row) {
          return row.sequence == sequence && row.n_tokens == chunk;
        });
        if (!whole) return;  // pages are short
      }
      demand(*sequence);
    }
    demand(*head);
    const std::int64_t start = head->swapped ? head->computed : 0;
    std::int64_t chunk = std::min(head->length() - start, limits_.max_batched_tokens);
    if (limits_.long_prefill_tokens > 0) chunk = std::min(chunk, limits_.long_prefill_tokens);
    std::int64_t need = pages(std::min(start + chunk + 1, head->max_total));
    if (head->swapped) need = std::max(need, head->swapped->pages());
    const bool fits = need <= free && predicted_peak(demands) <= world_.config().pages * block;
    ASSERT_FALSE(fits) << "P2: the head " << head->id << " fits";
  }

  World& world_;
  const StepPlan& plan_;
  const Config& limits_;
};

// That the runs meet what they are to test.
struct Coverage {
  std::int64_t steps = 0, preempted = 0, swapped_back = 0, rejected = 0, bypassed_to_the_limit = 0, two_in_flight = 0;
};

class RandomRun {
 public:
  RandomRun(std::uint64_t seed, Coverage& coverage, bool windowed)
      : coverage_(coverage), random_(seed), world_(random_config(random_, windowed)) {}

  void run() {
    const std::int64_t requests = random_.in(3, 25);
    const bool two_in_flight = random_.chance(50);
    std::int64_t submitted = 0;
    for (int step = 0; submitted < requests || world_.live() > 0; ++step) {
      ASSERT_LT(step, kMaxSteps) << "it does not end: " << world_.dump();
      const bool draining = submitted == requests;
      while (submitted < requests && random_.chance(30)) {
        world_.submit(random_request(random_, static_cast<SequenceId>(++submitted)));
      }
      disturb(draining && step > 2000);
      const std::string before = checks_trace(step) ? world_.dump() : "";
      const StepPlan plan = world_.scheduler().plan(world_.view());
      ASSERT_EQ(before, checks_trace(step) ? world_.dump() : "") << "plan() leaves a trace";
      Invariants invariants(world_, plan);
      invariants.check();
      if (testing::Test::HasFatalFailure()) return;
      count(plan);
      world_.apply(plan);
      if (testing::Test::HasFatalFailure()) return;
      invariants.check_bounds();
      const std::size_t depth = two_in_flight && random_.chance(80) ? 2 : 1;
      while (world_.flights() >= depth || (plan.empty() && world_.flights() > 0)) world_.commit();
      if (plan.empty()) idle();
    }
    const kv::PageCount all{.pages = world_.config().pages, .window = world_.config().window_pages};
    ASSERT_EQ(world_.cache().room(), all) << "pages are lost";
    ASSERT_EQ(world_.finished.size(), static_cast<std::size_t>(requests));
    ASSERT_EQ(world_.scheduler().waiting_tokens(), 0);
  }
  const WorldConfig& config() const { return world_.config(); }

 private:
  void count(const StepPlan& plan) {
    ++coverage_.steps;
    coverage_.preempted += static_cast<std::int64_t>(plan.preempted.size());
    coverage_.rejected += static_cast<std::int64_t>(plan.rejected.size());
    coverage_.two_in_flight += world_.flights() > 0 && !plan.empty() ? 1 : 0;
    for (const Admission& admission : plan.admitted) {
      coverage_.swapped_back += admission.sequence->swapped ? 1 : 0;
      const bool limit = admission.sequence->bypassed == world_.config().scheduling.max_bypassed;
      coverage_.bypassed_to_the_limit += limit ? 1 : 0;
    }
  }
  static bool checks_trace(int step) { return step % 7 == 0; }

  void idle() {
    const auto change = world_.scheduler().next_change();
    const double wait = change ? milliseconds_between(world_.view().now, *change) : 0.0;
    world_.advance(std::max(wait, 0.5));
  }
  // Readers become slow and quick again, clients leave.
  void disturb(bool calm_down) {
    std::vector<SequenceId> ids;
    for (const auto& [id, sequence] : world_.all()) ids.push_back(id);
    for (const SequenceId id : ids) {
      Sequence& sequence = world_.at(id);
      if (leaving_.count(id) > 0) continue;
      if (sequence.paused) {
        if (calm_down || random_.chance(20)) sequence.paused = false;
      } else if (!calm_down && random_.chance(2)) {
        sequence.paused = true;
      }
      if (!calm_down && random_.chance(1)) {
        leaving_.insert(id);
        world_.cancel(id);
      }
    }
  }

  Coverage& coverage_;
  Random random_;
  World world_;
  std::set<SequenceId> leaving_;
};

class SchedulerProperties : public testing::TestWithParam<bool> {};

TEST_P(SchedulerProperties, HoldUnderEveryPolicyAndModeForThousandsOfSeeds) {
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomRun run(seed, coverage, GetParam());
    run.run();
    if (testing::Test::HasFatalFailure()) {
      FAIL() << "seed " << seed << ", policy " << run.config().policy;
    }
  }
  EXPECT_GT(coverage.steps, 50 * kSeeds);
  EXPECT_GT(coverage.preempted, kSeeds / 2);
  EXPECT_GT(coverage.swapped_back, kSeeds / 10);
  EXPECT_GT(coverage.rejected, kSeeds / 20);
  EXPECT_GT(coverage.bypassed_to_the_limit, kSeeds / 10);
  EXPECT_GT(coverage.two_in_flight, kSeeds);
}

INSTANTIATE_TEST_SUITE_P(Windows, SchedulerProperties, testing::Values(false, true));

}  // namespace
}  // namespace millrace::sched

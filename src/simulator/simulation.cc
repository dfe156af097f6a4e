#include "simulator/simulation.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/check_trap.h"
#include "base/memory_env.h"
#include "simulator/client.h"
#include "simulator/fault_plan.h"
#include "simulator/invariants.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {
namespace {

constexpr std::int64_t kMaxRounds = 20'000;       // with faults; requests may be hard to place
constexpr std::int64_t kMaxQuietRounds = 60'000;  // until everything must have ended
constexpr TimePoint kBeginning{std::chrono::hours(1)};
constexpr auto kTick = std::chrono::microseconds(500);
constexpr auto kLongestWait = std::chrono::milliseconds(50);  // while a client may read or give up

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : scenario_(make_scenario(seed)),
        faults_(scenario_, env_, coverage_),
        desk_(scenario_, env_, verdict_, coverage_),
        invariants_(scenario_, verdict_),
        clients_(make_clients(scenario_)) {
    env_.time = kBeginning;  // the engine takes the clock's zero for never
  }

  Outcome run() {
    const CheckTrap trap;
    try {
      start();
      serve();
      if (!verdict_.failed()) finish();
    } catch (const CheckFailure& failure) {
      verdict_.fail("CHECK", 0, "{}", failure.what());
    } catch (const std::exception& escaped) {
      verdict_.fail("exception", 0, "{}", escaped.what());
    }
    if (engine_ != nullptr) count_engine();
    if (verdict_.failed()) {  // it may not even be fit to be destroyed
      (void)engine_.release();
      (void)disk_.release();
    }
    return {.seed = scenario_.seed,
            .scenario = scenario_.text(),
            .violation = verdict_.violation(),
            .steps = step_,
            .requests = desk_.asked(),
            .output_tokens = desk_.book().output_tokens(),
            .virtual_seconds = milliseconds_between(kBeginning, env_.time - faults_.jumped()) / 1000.0,
            .digest = desk_.book().digest(),
            .coverage = coverage_};
  }

 private:
  void start() {
    if (scenario_.disk) {
      auto disk = kv::DiskTier::open(env_, scenario_.disk_tier_config);
      if (disk) disk_ = std::move(*disk);
    }
    auto executor = std::make_unique<FakeExecutor>(
        scenario_.executor,
        [this](const model::BatchInput& input, std::span<float> logits) { return on_step(input, logits); });
    executor_ = executor.get();
    executor_->device().fail_host_memory([this] { return faults_.host_memory_short(); });
    engine_ =
        engine::Engine::create(std::move(executor), letter_tokenizer(), env_, scenario_.engine, disk_.get()).or_throw();
    if (scenario_.drafting.tokens > 0) {
      engine_->speculate(std::make_unique<engine::Speculation>(
          std::make_unique<FakeDrafter>(scenario_.drafting, *executor_, scenario_.seed),
          engine::SpeculationConfig{.tokens = scenario_.drafting.tokens,
                                    .adaptive = scenario_.drafting.adaptive,
                                    .max_branches = scenario_.drafting.max_branches}));
    }
    desk_.serve_with(*engine_);
    invariants_.restart();
    tokens_before_ = desk_.book().output_tokens();
  }

  Result<void> on_step(const model::BatchInput& input, std::span<float> logits) {
    if (static_cast<std::int64_t>(input.tokens.size()) > scenario_.engine.scheduling.max_batched_tokens) {
      verdict_.fail("Q2", 0, "a step of {} tokens, the limit is {}", input.tokens.size(),
                    scenario_.engine.scheduling.max_batched_tokens);
    }
    return faults_.on_step(input, logits);
  }

  void restart(bool crash) {
    coverage_.count(crash ? Event::kCrashed : Event::kRestarted);
    count_engine();
    env_.dead = crash;
    engine_.reset();
    disk_.reset();
    env_.dead = false;
    if (crash) faults_.crash();
    faults_.repair_disk();
    faults_.damage_pages();
    for (Client& client : clients_) client.restart();
    restarted_ = true;
    start();
  }

  // What only the engine has counted, before it goes.
  void count_engine() {
    const kv::CacheCounters& cache = engine_->cache().counters();
    coverage_.count(Event::kPreempted, engine_->counters().preemptions);
    coverage_.count(Event::kSwappedOut, engine_->counters().swaps);
    coverage_.count(Event::kDraftAccepted, engine_->counters().accepted_tokens);
    coverage_.count(Event::kDraftRejected, engine_->counters().drafted_tokens - engine_->counters().accepted_tokens);
    coverage_.count(Event::kBranchAccepted, engine_->counters().accepted_branch_tokens);
    coverage_.count(Event::kSwapResumed, cache.swapped_in_pages);
    coverage_.count(Event::kEvicted, cache.evicted_pages);
    coverage_.count(Event::kPagesMoved, cache.moved_pages);
    if (restarted_) coverage_.count(Event::kDiskHitAfterRestart, cache.loaded_pages);
    if (disk_ != nullptr) coverage_.count(Event::kDiskPageDamaged, disk_->use().damaged);
  }

  void serve() {
    for (std::int64_t round = 0; round < kMaxRounds && desk_.asked() < scenario_.requests; ++round) {
      const auto restarts = faults_.run_exclusive();
      if (restarts != FaultPlan::Restart::kNone) restart(restarts == FaultPlan::Restart::kCrash);
      for (Client& client : clients_) client.act(desk_, env_.time, desk_.asked() < scenario_.requests);
      step();
      if (verdict_.failed()) return;
    }
  }

  // No faults, no new requests, everybody reads: all must end, and all pages come back.
  void finish() {
    faults_.calm();
    faults_.repair_disk();
    for (std::int64_t round = 0; !desk_.book().live().empty(); ++round) {
      if (round == kMaxQuietRounds) {
        verdict_.fail("P1", desk_.book().live().begin()->first, "{} requests do not end", desk_.book().live().size());
      }
      std::vector<engine::RequestId> open;
      for (const auto& [id, asked] : desk_.book().live()) open.push_back(id);
      for (const engine::RequestId id : open) desk_.read(id);
      step();
      if (verdict_.failed()) return;
    }
    step();
    desk_.close_all_sessions();
    engine_->check_integrity();
    const kv::CacheUse use = engine_->cache().use();
    if (use.used != 0 || use.free + use.cached != use.total || use.swap_used_pages != 0) {
      verdict_.fail("B1", 0, "at the end {} of {} pages are used, {} of swap space", use.used, use.total,
                    use.swap_used_pages);
    }
    if (!engine_->idle()) verdict_.fail("Q1", 0, "at the end the engine is not idle");
  }

  void step() {
    ++step_;
    verdict_.at_step(step_);
    desk_.at_step(step_);
    desk_.look_after();
    invariants_.before_step(*engine_);
    const auto outputs = engine_->step();
    if (faults_.take_failures()) faulty_until_ = step_ + scenario_.executor.depth;
    std::vector<Asked> ended;
    desk_.deliver(outputs, step_ <= faulty_until_, ended);
    for (const Asked& asked : ended) clients_[asked.client].ended(asked);
    if (verdict_.failed()) return;
    invariants_.after_step(*engine_, desk_, env_.time, !outputs.empty());
    desk_.book().check_overdue(step_);
    if (engine_->counters().output_tokens != desk_.book().output_tokens() - tokens_before_) {
      verdict_.fail("S2", 0, "the engine counts {} tokens, {} came", engine_->counters().output_tokens,
                    desk_.book().output_tokens() - tokens_before_);
    }
    if (executor_->in_flight() > 0) coverage_.count(Event::kTwoStepsInFlight);
    if (!engine_->stalled() || !outputs.empty()) return;
    const auto next = engine_->next_event();
    next && *next <= env_.time ? void(env_.time += kTick) : wait();
  }

  // Nothing to compute: until a client wakes or the engine wants to be called.
  void wait() {
    TimePoint next = TimePoint::max();
    for (const Client& client : clients_) {
      if (client.wakes() > env_.time) next = std::min(next, client.wakes());
    }
    if (engine_->scheduler().next_change()) coverage_.count(Event::kBatchWaited);
    if (const auto event = engine_->next_event()) next = std::min(next, *event);
    if (!desk_.book().live().empty()) next = std::min(next, env_.time + kLongestWait);
    env_.time = std::max(env_.time + kTick, next == TimePoint::max() ? env_.time : next);
  }

  Scenario scenario_;
  MemoryEnv env_;
  Coverage coverage_;
  Verdict verdict_;
  FaultPlan faults_;
  RequestDriver desk_;
  Invariants invariants_;
  std::vector<Client> clients_;
  std::unique_ptr<kv::DiskTier> disk_;
  std::unique_ptr<engine::Engine> engine_;
  FakeExecutor* executor_ = nullptr;
  std::int64_t step_ = 0, faulty_until_ = -1, tokens_before_ = 0;
  bool restarted_ = false;
};

}  // namespace

Outcome simulate(std::uint64_t seed) { return Simulation(seed).run(); }

}  // namespace millrace::simulator

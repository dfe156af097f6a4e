#include "simulator/simulation.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/check_trap.h"
#include "base/counter_rng.h"
#include "base/memory_env.h"
#include "engine/active_sequence.h"
#include "simulator/adapter_shelf.h"
#include "simulator/client.h"
#include "simulator/fault_plan.h"
#include "simulator/invariants.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::simulator {
namespace {

constexpr std::int64_t kMaxRounds = 20'000;        // with faults; requests may be hard to place
constexpr std::int64_t kMaxQuietRounds = 600'000;  // until all has ended, be it that beams are computed token by token
constexpr int kMaxLosses = 5;  // in a row, until the requests of the next one fail (docs/parallel.md)
constexpr TimePoint kBeginning{std::chrono::hours(1)};
constexpr std::uint64_t kSecondEngine = 1'000'000'000;  // its ids begin there
constexpr auto kTick = std::chrono::microseconds(500);
constexpr auto kLongestWait = std::chrono::milliseconds(50);  // while a client may read or give up

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed)
      : scenario_(make_scenario(seed)),
        faults_(scenario_, env_, coverage_),
        shelf_(scenario_, env_, verdict_, coverage_),
        desk_(scenario_, env_, verdict_, coverage_),
        clients_(make_clients(scenario_)) {
    for (int i = 0; i < scenario_.engines; ++i) {
      places_.push_back({.invariants = Invariants(scenario_, verdict_, static_cast<std::size_t>(i))});
    }
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
    count_engines();
    if (verdict_.failed()) {  // they may not even be fit to be destroyed
      for (Place& place : places_) {
        [[maybe_unused]] const auto* engine = place.engine.release();
      }
      [[maybe_unused]] const auto* disk = disk_.release();
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
  struct Place {
    Invariants invariants;
    std::unique_ptr<engine::Engine> engine = nullptr;
    FakeExecutor* executor = nullptr;  // the engine's
  };

  void start() {
    if (scenario_.disk) {
      auto disk = kv::DiskTier::open(env_, scenario_.disk_tier_config);
      if (disk) disk_ = std::move(*disk);
    }
    shelf_.open();
    std::vector<engine::Engine*> engines;
    for (Place& place : places_) {
      const bool first = engines.empty();  // has the disk tier
      start_engine(place, first ? 1 : kSecondEngine, first ? disk_.get() : nullptr);
      engines.push_back(place.engine.get());
    }
    desk_.serve_with(std::move(engines), shelf_);
    tokens_before_ = desk_.book().output_tokens();
  }

  void start_engine(Place& place, std::uint64_t first_id, kv::DiskTier* disk) {
    FakeExecutor::Config device = scenario_.executor;
    device.companion_key = rng::mix(scenario_.seed + first_id) % 3;  // of some scenarios the same in both engines
    auto executor = std::make_unique<FakeExecutor>(
        device, [this](const engine::StepInput& input, std::span<float> logits) { return on_step(input, logits); },
        device.ranks.ranks() > 1 ? start_ranks() : nullptr);
    place.executor = executor.get();
    executor->set_adapters(shelf_.store());
    place.executor->device().fail_host_memory([this] { return faults_.host_memory_short(); });
    engine::Config config = scenario_.engine;
    config.first_id = first_id;
    place.engine = engine::Engine::create(std::move(executor), letter_tokenizer(), env_, config, disk).or_throw();
    if (scenario_.drafting.tokens > 0) {
      place.engine->speculate(std::make_unique<FakeDrafter>(scenario_.drafting, *place.executor, scenario_.seed),
                              engine::SpeculationConfig{.tokens = scenario_.drafting.tokens,
                                                        .adaptive = scenario_.drafting.adaptive,
                                                        .max_branches = scenario_.drafting.max_branches});
    }
    place.invariants.restart();
  }

  std::unique_ptr<FakeRanks> start_ranks() {
    const FakeExecutor::Config& device = scenario_.executor;
    return std::make_unique<FakeRanks>(FakeRanks::Config{
        .shape = device.ranks,
        .model = {.vocab_size = device.vocab_size, .max_length = device.max_length, .window = device.window},
        .read = [this](const std::string& path, const model::AdapterOptions&) { return shelf_.read_for_rank(path); },
        .env = &env_,
        .faults = &faults_,
        .verdict = &verdict_,
        .coverage = &coverage_});
  }

  Result<void> on_step(const engine::StepInput& input, std::span<float> logits) {
    if (static_cast<std::int64_t>(input.tokens.size()) > scenario_.engine.scheduling.max_batched_tokens) {
      verdict_.fail("Q2", 0, "a step of {} tokens, the limit is {}", input.tokens.size(),
                    scenario_.engine.scheduling.max_batched_tokens);
    }
    coverage_.count(Event::kTokenFed, std::ssize(input.fed_rows));
    return faults_.on_step(input, logits);
  }

  void restart(bool crash) {
    coverage_.count(crash ? Event::kCrashed : Event::kRestarted);
    count_engines();
    env_.dead = crash;
    for (Place& place : places_) place.engine.reset();
    shelf_.close();
    disk_.reset();
    env_.dead = false;
    if (crash) faults_.crash();
    faults_.repair_disk();
    faults_.damage_pages();
    for (Client& client : clients_) client.restart();
    restarted_ = true;
    start();
  }

  // What only the engines have counted, before they go.
  void count_engines() {
    for (const Place& place : places_) {
      if (place.engine == nullptr) continue;
      const kv::CacheCounters& cache = place.engine->cache().counters();
      const engine::EngineCounters& counters = place.engine->counters();
      coverage_.count(Event::kPreempted, counters.preemptions);
      coverage_.count(Event::kSwappedOut, counters.swaps);
      coverage_.count(Event::kDraftAccepted, counters.accepted_tokens);
      coverage_.count(Event::kDraftRejected, counters.drafted_tokens - counters.accepted_tokens);
      coverage_.count(Event::kBranchAccepted, counters.accepted_branch_tokens);
      coverage_.count(Event::kSwapResumed, cache.swapped_in_pages);
      coverage_.count(Event::kEvicted, cache.evicted_pages);
      if (const kv::WindowPages* window = place.engine->cache().window()) {
        coverage_.count(Event::kWindowPageEvicted, window->evicted());
      }
      coverage_.count(Event::kPagesMoved, cache.moved_pages);
      if (restarted_) coverage_.count(Event::kDiskHitAfterRestart, cache.loaded_pages);
    }
    if (disk_ != nullptr) coverage_.count(Event::kDiskPageDamaged, disk_->use().damaged);
  }

  void serve() {
    for (std::int64_t round = 0; round < kMaxRounds && desk_.asked() < scenario_.requests; ++round) {
      const auto restarts = faults_.run_exclusive();
      if (restarts != FaultPlan::Restart::kNone) restart(restarts == FaultPlan::Restart::kCrash);
      for (Client& client : clients_) client.act(desk_, env_.time, desk_.asked() < scenario_.requests);
      shelf_.change();
      if (scenario_.moves > 0 && moves_.one_in(scenario_.moves)) move_something();
      step();
      if (verdict_.failed()) return;
    }
  }

  // A request in flight, whatever it is doing, and an idle session.
  void move_something() {
    std::vector<engine::RequestId> movable;
    for (const auto& [id, asked] : desk_.book().live()) {
      if (asked.engine != kInTransit && asked.must_end_by < 0) movable.push_back(id);
    }
    if (!movable.empty()) {
      std::vector<engine::Output> outputs;
      desk_.take_out(moves_.of(movable), outputs);
      deliver(outputs);
    }
    std::vector<engine::SessionId> sessions;
    for (const auto& [id, session] : desk_.all_sessions()) sessions.push_back(id);
    if (sessions.empty() || verdict_.failed()) return;
    if (const auto renamed = desk_.move_session(moves_.of(sessions))) tell(*renamed);
  }

  void tell(const RequestDriver::Renamed& renamed) {
    for (Client& client : clients_) client.renamed(renamed);
  }

  // No faults, no new requests, everybody reads: all must end, and all pages come back.
  void finish() {
    faults_.calm();
    shelf_.calm();
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
    shelf_.check_end();
    for (const Place& place : places_) {
      place.engine->check_integrity();
      const kv::CacheUse use = place.engine->cache().use();
      if (use.window_used != 0 || use.window_free + use.window_cached != use.window_total) {
        verdict_.fail("B1", 0, "at the end {} of {} window pages are used", use.window_used, use.window_total);
      }
      if (use.used != 0 || use.free + use.cached != use.total || use.swap_used_pages != 0) {
        verdict_.fail("B1", 0, "at the end {} of {} pages are used, {} of swap space", use.used, use.total,
                      use.swap_used_pages);
      }
      if (!place.engine->idle()) verdict_.fail("Q1", 0, "at the end the engine is not idle");
    }
  }

  void deliver(const std::vector<engine::Output>& outputs) {
    for (const Place& place : places_) {
      if (place.executor->losses() > 0) lost_until_ = step_ + 1;
      if (place.executor->losses() > kMaxLosses) {
        coverage_.count(Event::kRanksGivenUp);
        faulty_until_ = std::max(faulty_until_, step_ + 1);
      }
    }
    if (faults_.take_failures()) faulty_until_ = step_ + scenario_.executor.depth;
    std::vector<Asked> ended;
    desk_.deliver(outputs, step_ <= faulty_until_, step_ <= lost_until_, ended);
    for (const Asked& asked : ended) clients_[asked.client].ended(asked);
  }

  void step() {
    ++step_;
    verdict_.at_step(step_);
    desk_.at_step(step_);
    for (const RequestDriver::Renamed& renamed : desk_.arrive()) tell(renamed);
    desk_.look_after();
    shelf_.read();
    bool nothing_came = true, all_stalled = true;
    std::int64_t tokens = 0, held_back = 0;
    for (Place& place : places_) {
      if (verdict_.failed()) return;
      place.invariants.before_step(*place.engine);
      const auto outputs = place.engine->step();
      deliver(outputs);
      if (verdict_.failed()) return;
      if (FakeRanks* ranks = place.executor->ranks()) ranks->check();
      place.invariants.after_step(*place.engine, desk_, shelf_, env_.time, !outputs.empty());
      nothing_came = nothing_came && outputs.empty();
      all_stalled = all_stalled && place.engine->stalled();
      tokens += place.engine->counters().output_tokens;
      if (place.executor->in_flight() == 0) continue;
      coverage_.count(Event::kTwoStepsInFlight);
      held_back += tokens_held_back(*place.engine);
    }
    shelf_.check();
    desk_.book().check_overdue(step_);
    const std::int64_t came = desk_.book().output_tokens() - tokens_before_;
    if (tokens != came + held_back) {
      verdict_.fail("S2", 0, "the engines count {} tokens, {} came and {} are held back", tokens, came, held_back);
    }
    if (all_stalled && nothing_came) wait();
  }

  // The last token of an answer that ended while a further step had its sequence comes when that step is committed.
  static std::int64_t tokens_held_back(const engine::Engine& engine) {
    return std::ranges::count_if(engine.scheduler().running(), [](const sched::Sequence* sequence) {
      const auto& last = static_cast<const engine::ActiveSequence*>(sequence)->last_output;
      return last != nullptr && last->token;
    });
  }

  // Nothing to compute: until a client wakes or an engine wants to be called.
  void wait() {
    TimePoint next = TimePoint::max();
    for (const Client& client : clients_) {
      if (client.wakes() > env_.time) next = std::min(next, client.wakes());
    }
    if (const auto event = shelf_.next_event()) next = std::min(next, *event);
    for (const Place& place : places_) {
      if (place.engine->scheduler().next_change()) coverage_.count(Event::kBatchWaited);
      if (const auto event = place.engine->next_event()) next = std::min(next, *event);
    }
    if (!desk_.book().live().empty()) next = std::min(next, env_.time + kLongestWait);
    env_.time = std::max(env_.time + kTick, next == TimePoint::max() ? env_.time : next);
  }

  Scenario scenario_;
  MemoryEnv env_;
  Coverage coverage_;
  Verdict verdict_;
  FaultPlan faults_;
  AdapterShelf shelf_;
  RequestDriver desk_;
  std::vector<Client> clients_;
  std::unique_ptr<kv::DiskTier> disk_;
  std::vector<Place> places_;  // [scenario.engines]
  Random moves_{rng::mix(scenario_.seed ^ 0x307e5)};
  std::int64_t step_ = 0, faulty_until_ = -1, lost_until_ = -1, tokens_before_ = 0;
  bool restarted_ = false;
};

}  // namespace

Outcome simulate(std::uint64_t seed) { return Simulation(seed).run(); }

}  // namespace millrace::simulator

#include "simulator/scenario.h"

#include <algorithm>

#include "base/counter_rng.h"
#include "kv/paged_cache.h"
#include "simulator/letter_tokenizer.h"
#include "simulator/random.h"

namespace millrace::simulator {
namespace {

FaultRates random_faults(Random& random, bool disk) {
  FaultRates faults;
  if (random.chance(30)) return faults;
  if (random.chance(40)) faults.failed_step = static_cast<int>(random.in(30, 200));
  if (random.chance(40)) faults.nan_row = static_cast<int>(random.in(20, 200));
  if (random.chance(20)) faults.clock_jump = static_cast<int>(random.in(50, 300));
  if (random.chance(disk ? 70 : 10)) faults.restart = static_cast<int>(random.in(60, 300));
  if (disk && random.chance(30)) faults.disk = static_cast<int>(random.in(50, 300));
  faults.damaged_pages = random.chance(disk ? 75 : 20);
  if (random.chance(30)) faults.host_memory = static_cast<int>(random.in(2, 20));
  return faults;
}

sched::Config random_scheduling(Random& random) {
  sched::Config config;
  config.max_batched_tokens = random.chance(10) ? random.in(1, 4) : random.in(5, 128);
  config.max_sequences = random.in(1, 24);
  config.long_prefill_tokens = random.chance(25) ? random.in(1, 40) : 0;
  config.tpot_target_ms = random.chance(25) ? static_cast<double>(random.in(5, 60)) : 0.0;
  config.batching = static_cast<sched::BatchingMode>(random.chance(75) ? 0 : random.in(1, 2));
  config.batch_wait_ms = static_cast<double>(random.in(0, 200));
  config.max_bypassed = static_cast<std::int32_t>(random.chance(50) ? 64 : random.in(1, 8));
  config.max_preemptions = static_cast<std::int32_t>(random.in(1, 4));
  return config;
}

Drafting random_drafting(Random& random) {
  if (random.chance(50)) return {};
  return {.tokens = random.in(1, 12),
          .right_percent = static_cast<int>(random.chance(20) ? 100 : random.in(0, 99)),
          .computes = random.chance(50),
          .adaptive = random.chance(30),
          .max_branches = static_cast<int>(random.chance(50) ? 1 : random.in(2, draft::kMaxBranches))};
}

// Some have layers with a window, which have as few pages as can do or more. Drawn apart, so that all else is the same
// with and without.
void add_window(Scenario& s) {
  Random random(rng::mix(s.seed ^ 0x3a1d));
  if (!random.chance(40)) return;
  const std::int64_t tokens = s.executor.pages * s.executor.block_tokens;
  s.executor.window = random.chance(30) ? random.in(1, 16) : random.in(1, std::max<std::int64_t>(2, tokens / 3));
  const std::int32_t least = kv::min_window_pages(s.executor.window, s.executor.block_tokens);
  const std::int64_t more = random.chance(30) ? 0 : random.in(0, s.executor.pages);
  s.executor.window_pages = least + static_cast<std::int32_t>(more);
  s.disk_tier_config.origin.page_bytes *= 2;
  s.engine.swap_bytes *= 2;
}

// Some share the model among two to four ranks: as stages where steps are a pipeline. Drawn apart, as windows are.
void add_ranks(Scenario& s) {
  Random random(rng::mix(s.seed ^ 0x4a4c));
  FakeExecutor::Config& executor = s.executor;
  const bool pipeline = executor.depth > 1 && !executor.feeds;
  if (!random.chance(60) || (pipeline && executor.depth > 4)) return;
  RankShape& ranks = executor.ranks;
  ranks.stages = pipeline ? executor.depth : 1;
  ranks.tensor = static_cast<int>(!pipeline ? random.in(2, 4) : ranks.stages == 2 ? random.in(1, 2) : 1);
  for (int i = 0; i < ranks.tensor; ++i) ranks.shares.push_back(random.chance(50) ? 1.0 : 0.2 + random.unit());
  s.disk_tier_config.origin.page_bytes *= slot_bytes(ranks);
  s.disk_tier_config.origin.page_bytes /= sizeof(Stamp);
  if (random.chance(30)) return;
  RankFaultRates& faults = s.faults.ranks;
  const auto rate = [&](int percent) { return random.chance(percent) ? static_cast<int>(random.in(50, 1500)) : 0; };
  faults = {.lost = rate(30), .doubled = rate(30), .damaged = rate(20), .overtaken = rate(20), .late = rate(30)};
  faults.died = random.chance(60) ? static_cast<int>(random.in(100, 3000)) : 0;
  if (random.chance(3)) faults.died = static_cast<int>(random.in(5, 30));  // so often that some are given up
}

// Some have adapters, but for those whose requests move: an engine has the adapters of its own process. Drawn apart, as
// windows are.
void add_adapters(Scenario& s) {
  Random random(rng::mix(s.seed ^ 0x10ada));
  if (s.moves > 0 || !random.chance(50)) return;
  AdapterTraffic& adapters = s.adapters;
  adapters.names = static_cast<int>(random.in(1, 6));
  if (random.chance(70)) adapters.limits.count = random.in(1, 4);
  if (random.chance(40)) adapters.limits.bytes = static_cast<std::uint64_t>(random.in(3, 8));
  adapters.full = random.chance(75) ? model::WhenFull::kQueue : model::WhenFull::kReject;
  adapters.waiting = random.chance(60) ? model::WaitingRequests::kFinish : model::WaitingRequests::kReject;
  adapters.percent = static_cast<int>(random.in(30, 100));
  adapters.read_ms = random.chance(20) ? 0.0 : 300.0 * random.unit();
  adapters.changes = static_cast<int>(random.in(4, 80));
  adapters.damage = random.chance(40);
}

}  // namespace

Scenario make_scenario(std::uint64_t seed) {
  Random random(seed);
  Scenario s;
  s.seed = seed;
  constexpr std::int64_t kBlocks[] = {1, 8, 16, 32, 64};
  s.executor.block_tokens = random.of(kBlocks);
  const std::int64_t tokens = random.chance(60) ? random.in(100, 400) : random.in(400, 1500);
  s.executor.pages = static_cast<std::int32_t>(tokens / s.executor.block_tokens + random.in(2, 6));
  s.executor.depth = random.chance(40) ? static_cast<int>(random.chance(60) ? 2 : random.in(3, 5)) : 1;
  s.executor.vocab_size = kLetters;
  s.executor.max_length = random.chance(30) ? random.in(60, 300) : 4096;
  s.engine.scheduling = random_scheduling(random);
  s.executor.feeds = seed % 2 == 0;  // else a pipeline
  if (!s.executor.feeds) s.engine.scheduling.stages = s.executor.depth;
  const auto policies = sched::all_policies();
  s.engine.policy =
      policies[static_cast<std::size_t>(random.in(0, static_cast<std::int64_t>(policies.size()) - 1))].name;
  s.engine.prefix_caching = random.chance(80);
  const auto page_bytes = static_cast<std::size_t>(s.executor.block_tokens) * sizeof(Stamp);
  if (random.chance(50)) s.engine.swap_bytes = page_bytes * static_cast<std::size_t>(random.in(1, s.executor.pages));
  s.engine.preemption = static_cast<engine::Preemption>(random.in(0, 2));
  s.engine.session_share = random.chance(50) ? 1.0 : random.unit();
  s.engine.max_waiting = random.chance(20) ? random.in(1, 8) : 1024;
  s.machine = {.fixed_ms = 1.0 + 9.0 * random.unit(),
               .weights_ms = 5.0 + 40.0 * random.unit(),
               .token_ms = 0.2 + 2.0 * random.unit(),
               .kv_token_ms = 1e-3 * random.unit(),
               .sample_ms = 0.1 * random.unit()};
  if (random.chance(50)) s.engine.policy_options.values.set("reject_late", 1.0);
  s.noise = random.chance(50) ? 0.5 * random.unit() : 0.0;
  s.disk = s.engine.prefix_caching && random.chance(25);
  s.disk_tier_config.directory = "archive";
  s.disk_tier_config.origin = {.model_key = 7, .page_bytes = page_bytes, .block_tokens = s.executor.block_tokens};
  s.disk_tier_config.segment_bytes = static_cast<std::uint64_t>(random.in(500, 20'000));
  s.disk_tier_config.limit_bytes = static_cast<std::uint64_t>(random.in(4'000, 200'000));
  s.faults = random_faults(random, s.disk);
  s.drafting = random_drafting(random);
  s.requests = random.in(10, 70);
  s.longest_prompt = random.chance(20) ? 2 * tokens : random.in(8, std::max<std::int64_t>(16, tokens / 3));
  s.longest_answer = random.in(2, 60);
  s.reader_room = random.in(2, 24);
  s.slow_reader_ms = static_cast<double>(random.in(200, 30'000));
  s.engine.model_key = 7;
  if (random.chance(35)) {
    s.engines = 2;
    s.moves = static_cast<int>(random.in(1, 12));
  }
  add_window(s);
  add_ranks(s);
  if (random.chance(30)) s.machine.reads = {.experts = random.unit(), .left_out = random.unit()};
  s.engine.step_cost.reads = s.machine.reads;
  add_adapters(s);
  return s;
}

bool Scenario::rejects_late() const {
  return engine.policy == "slo" && engine.policy_options.values.has("reject_late");
}

std::string Scenario::text() const {
  constexpr const char* kModes[] = {"continuous", "dynamic", "static"};
  constexpr const char* kPreemptions[] = {"auto", "recompute", "swap"};
  return fmt::format(
      "{}, {}, pages of {} tokens, {} of them, depth {} in {} stages, budget {}, {} sequences, prefixes {}, swap {} "
      "bytes, "
      "preemption "
      "{}, archive {}, {} drafted tokens in {} chains, {} requests, {} engines, a move in {} rounds, "
      "window {} in {} pages, {} adapters, at most {} or {} bytes, {} ranks in each of {} stages",
      engine.policy, kModes[static_cast<int>(engine.scheduling.batching)], executor.block_tokens, executor.pages,
      executor.depth, engine.scheduling.stages, engine.scheduling.max_batched_tokens, engine.scheduling.max_sequences,
      engine.prefix_caching ? "on" : "off", engine.swap_bytes, kPreemptions[static_cast<int>(engine.preemption)],
      disk ? "on" : "off", drafting.tokens, drafting.max_branches, requests, engines, moves, executor.window,
      executor.window_pages, adapters.names, adapters.limits.count, adapters.limits.bytes, executor.ranks.tensor,
      executor.ranks.stages);
}

}  // namespace millrace::simulator

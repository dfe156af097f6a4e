#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "cli.h"
#include "command.h"
#include "service_plan.h"
#include "simulator/campaign.h"

namespace millrace::commands {
namespace {

using Json = nlohmann::ordered_json;
using simulator::Campaign;
using simulator::Event;
using simulator::Outcome;

struct SimulateFlags {
  std::uint64_t seed = 1, seeds = 1;
  bool json = false, verbose = false;
  app::ServicePlanFlags plan;
};

Json json_of(const Outcome& outcome) {
  const auto& violation = *outcome.violation;
  return {{"seed", outcome.seed},         {"invariant", violation.invariant}, {"step", violation.step},
          {"request", violation.request}, {"what", violation.what},           {"scenario", outcome.scenario}};
}

void print_violation(const Outcome& outcome) {
  const auto& violation = *outcome.violation;
  fmt::print("seed {}: {} broken at step {}, request {}: {}\n  {}\n", outcome.seed, violation.invariant, violation.step,
             violation.request, violation.what, outcome.scenario);
}

void print_campaign(const Campaign& campaign) {
  fmt::print("{} runs, {} steps, {} requests, {} tokens, {:.1f} hours of serving; digest {:016x}\n\n", campaign.runs,
             campaign.steps, campaign.requests, campaign.output_tokens, campaign.virtual_hours, campaign.digest);
  for (std::size_t i = 0; i < simulator::kEvents; ++i) {
    fmt::print("{:<26}{:>10}\n", to_string(static_cast<Event>(i)), campaign.coverage.of(static_cast<Event>(i)));
  }
  if (campaign.violated.empty()) {
    fmt::print("\nEvery promise was kept; to predict how a load is served, use --workload with --model-speed.\n");
  } else {
    fmt::print("\n{} runs broke a promise: report the seeds above with `millrace version`; each repeats with --seed.\n",
               campaign.violated.size());
  }
}

// No wall time anywhere: the same seeds print the same bytes.
void print_json(const SimulateFlags& flags, const Campaign& campaign) {
  Json out = {{"first_seed", flags.seed},
              {"seeds", campaign.runs},
              {"steps", campaign.steps},
              {"requests", campaign.requests},
              {"output_tokens", campaign.output_tokens},
              {"virtual_hours", campaign.virtual_hours},
              {"digest", fmt::format("{:016x}", campaign.digest)}};
  for (std::size_t i = 0; i < simulator::kEvents; ++i) {
    const auto event = static_cast<Event>(i);
    out["events"][std::string(to_string(event))] = campaign.coverage.of(event);
  }
  out["violations"] = Json::array();
  for (const Outcome& outcome : campaign.violated) out["violations"].push_back(json_of(outcome));
  fmt::print("{}\n", out.dump(2));
}

int run_seeds(const SimulateFlags& flags) {
  if (log::level() == log::Level::kWarn) log::set_level(log::Level::kError);  // disks fail on purpose
  Campaign campaign;
  for (std::uint64_t i = 0; i < flags.seeds; ++i) {
    Outcome outcome = simulator::simulate(flags.seed + i);
    if (flags.verbose && !flags.json) {
      fmt::print("seed {}: {} steps, {} requests, {} tokens, {:.1f} s, digest {:016x}: {}\n", outcome.seed,
                 outcome.steps, outcome.requests, outcome.output_tokens, outcome.virtual_seconds, outcome.digest,
                 outcome.scenario);
    }
    if (outcome.violation && !flags.json) print_violation(outcome);
    campaign.add(std::move(outcome));
  }
  flags.json ? print_json(flags, campaign) : print_campaign(campaign);
  return campaign.violated.empty() ? 0 : exit_code(ErrorCode::kInternal);
}

}  // namespace

app::Command simulate() {
  return {.name = "simulate",
          .summary =
              "Test the engine on virtual time with random faults, or predict how scheduling policies serve a workload",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<SimulateFlags>();
            app.add_option("--seed", flags->seed,
                           "Seed of the first run, from which configuration, clients and faults are sampled");
            app.add_option("--seeds", flags->seeds, "Number of runs, with seeds counting up from --seed")
                ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
            app.add_flag("--verbose", flags->verbose, "Print one line per seed");
            app.add_flag("--json", flags->json, "Print the result as one JSON object");
            flags->plan.declare(app);
            return [flags] {
              return flags->plan.wanted() ? app::plan_service(flags->plan, flags->json) : run_seeds(*flags);
            };
          },
          .example = "millrace simulate --seed 1 --seeds 100"};
}

}  // namespace millrace::commands

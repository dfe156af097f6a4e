#include "inspect/step_prediction.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "link_speed.h"
#include "model_speed.h"
#include "sched/shared_step_cost.h"

namespace millrace::app {
namespace {

using Json = nlohmann::ordered_json;

// All stages of a step, one behind the other, and what they pass on.
sched::SharedWork shared_work(const std::vector<model::RankPlan>& plans, const model::ModelSpec& spec,
                              const model::Shards& shards, int hosts) {
  sched::SharedWork work{.part = 0.0};
  for (int stage = 0; stage < shards.stages(); ++stage) {
    const auto ranks = static_cast<std::size_t>(shards.stage_ranks());
    const auto of_stage = std::span(plans).subspan(static_cast<std::size_t>(stage) * ranks, ranks);
    double slowest = 0.0;
    for (const model::RankPlan& plan : of_stage) slowest = std::max(slowest, plan.work / plan.share);
    work.part += slowest / hosts;  // all ranks' shares together are 1, and all hosts' processors are `hosts`
    const model::PlannedExchanges& exchanges = of_stage.front().exchanges;
    work.exchanges += static_cast<double>(exchanges.count);
    work.row_bytes += static_cast<double>(exchanges.row_bytes);
    work.logit_bytes += static_cast<double>(exchanges.logit_bytes);
  }
  if (const int passed = shards.stages() - 1; passed > 0) {
    work.exchanges += passed + 1;
    work.row_bytes += static_cast<double>(passed * spec.hidden_size) * sizeof(float);
    work.logit_bytes += static_cast<double>(spec.vocab_size) * sizeof(float);
  }
  return work;
}

// `sequences` with so many tokens each, behind `before` others.
sched::StepWork step_of(std::int64_t sequences, std::int64_t tokens, std::int64_t before) {
  sched::StepWork work;
  for (std::int64_t i = 0; i < sequences; ++i) work.add(tokens, before);
  work.samples = sequences;
  return work;
}

}  // namespace

Json predict_steps(const std::vector<model::RankPlan>& plans, const model::ModelSpec& spec, const model::Shards& shards,
                   const PredictionFlags& flags) {
  if (shards.ranks() % flags.hosts != 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "hosts", "hosts is {}: must divide the {} ranks", flags.hosts,
                     shards.ranks());
  }
  if (flags.hosts > 1 && flags.link_speed.empty()) {
    throw_load_error(
        ErrorCode::kInvalidArgument, "link-speed",
        "--link-speed is needed for several hosts: mpirun ... millrace doctor --link-speed mpi > link.json");
  }
  const sched::StepCost one = read_model_speed(flags.model_speed);
  const comm::LinkSpeed link =
      flags.link_speed.empty() ? *measure_link_speed("shm") : read_link_speed(flags.link_speed);
  const sched::SharedWork work = shared_work(plans, spec, shards, flags.hosts);
  sched::SharedWork silent = work;
  silent.exchanges = silent.row_bytes = silent.logit_bytes = 0.0;
  const sched::StepCost ranks = sched::shared_step_cost(one, work, link);
  const sched::StepCost computing = sched::shared_step_cost(one, silent, link);
  Json steps = Json::array();
  for (const auto& [name, step] : {std::pair{"decode, 1 sequence", step_of(1, 1, 100)},
                                   {"decode, 32 sequences", step_of(32, 1, 100)},
                                   {"prefill of 512 tokens", step_of(1, 512, 0)}}) {
    const double ms = ranks.milliseconds(step);
    steps.push_back({{"step", name},
                     {"one_ms", one.milliseconds(step)},
                     {"ranks_ms", ms},
                     {"exchanges_ms", ms - computing.milliseconds(step)}});
  }
  Json report = {{"hosts", flags.hosts},
                 {"link", {{"latency_us", link.latency_us}, {"gb_per_s", link.gb_per_s}}},
                 {"steps", std::move(steps)}};
  report.update(json_of(ranks));
  return report;
}

}  // namespace millrace::app

#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "model/rank_plan.h"

namespace millrace::app {

// What steps on ranks are predicted from.
struct PredictionFlags {
  std::string model_speed;  // file of `doctor --model-speed` on one host; empty: nothing is predicted
  std::string link_speed;   // file of `doctor --link-speed`; empty: what two processes of this host reach now
  int hosts = 1;            // alike, each with as many ranks
};

// Times of steps of ranks beside those of one process on a host (sched/shared_step_cost.h): {"hosts", "link", "steps",
// and the fields of StepCost}, so that the report is itself a file for `simulate --model-speed`. Of each of "steps":
// {"step", "one_ms", "ranks_ms", "exchanges_ms"}. Throws LoadError where a file is not fit, or hosts do not divide the
// ranks.
nlohmann::ordered_json predict_steps(const std::vector<model::RankPlan>& plans, const model::ModelSpec& spec,
                                     const model::Shards& shards, const PredictionFlags& flags);

}  // namespace millrace::app

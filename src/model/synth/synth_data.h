#pragma once

#include "base/worker_team.h"
#include "model/synth/synth_model.h"

namespace millrace::model {

// The contents of the model's tensors, computed chunk by chunk by the team. All three arguments must outlive the last
// call.
checkpoint::DataSource synth_data(const SynthModel& model, WorkerTeam& team,
                                  const std::function<void(std::uint64_t bytes)>& progress);

}  // namespace millrace::model

#pragma once

#include "base/worker_team.h"
#include "model/synth/synth_model.h"

namespace millrace::model {

// The tensors' bytes, made chunk by chunk with rows split over the team. Borrows all three until the last call.
checkpoint::DataSource synth_data(const SynthModel& model, WorkerTeam& team,
                                  const std::function<void(std::uint64_t bytes)>& progress);

}  // namespace millrace::model

#pragma once

#include <functional>
#include <memory>

#include "base/log.h"
#include "comm/communicator.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// What main() does in a process that RankGroup has started: loads its part of the model, and follows rank 0 to the end.
// `descriptor` is of the group's shared memory. Throws LoadError.
void follow_rank(int descriptor, int rank);

// Loads this rank's part of the model, and follows rank 0 until that has no more use for it. `level`: what rank 0 logs.
// Throws LoadError.
void follow_model(log::Level level, const ModelConfig& config, const std::shared_ptr<comm::Communicator>& group,
                  const std::function<void(const Error&)>& not_loaded = {});

}  // namespace millrace::runtime

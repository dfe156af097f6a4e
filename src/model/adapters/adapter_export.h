#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/worker_team.h"
#include "checkpoint/checkpoint.h"
#include "model/adapters/peft_adapter.h"

namespace millrace::model {

struct ExportOptions {
  std::int64_t rank = 16;          // the greatest of a module
  std::vector<std::string> kinds;  // of modules to export, such as "q_proj"; empty: all that differ
};

// What an adapter of that rank leaves of the difference of two models.
struct ExportedKind {
  std::int64_t modules = 0;
  double squares = 0.0, residual = 0.0;  // of the difference, and of what is left, summed
  double error() const;                  // relative
};

struct ExportedAdapter {
  PeftFiles files;
  std::int64_t rank = 0, modules = 0;
  std::map<std::string, ExportedKind> kinds;  // that differ, by name
  // Tensors that differ and are in no module of the adapter, such as norms and embeddings.
  std::vector<std::string> left_out;
};

// The difference of two models of one shape as an adapter of `base`: for each linear layer the nearest matrix of that
// rank. Memory is that of one weight in f32 a few times, and the adapter. `progress` gets the modules done so far, and
// all. Throws LoadError: kInvalidArgument naming `modules` or `tuned` for a kind that there is not, and for a tuned
// model with other modules or without a difference; errors of linear_modules().
ExportedAdapter export_adapter(const checkpoint::Checkpoint& base, const checkpoint::Checkpoint& tuned,
                               const ExportOptions& options, WorkerTeam& team,
                               const std::function<void(std::int64_t done, std::int64_t all)>& progress = {});

}  // namespace millrace::model

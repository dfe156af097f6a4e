#include "rank_process.h"

#include "cli.h"
#include "runtime/mpi_ranks.h"

namespace millrace::app {

std::optional<int> follow_as_rank(const CLI::App& parent) {
  const CLI::App* command = &parent;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  const CLI::Option* backend = command->get_option_no_throw("--distributed-executor-backend");
  if (backend == nullptr) return std::nullopt;
  runtime::RankConfig ranks;
  ranks.distributed_executor_backend = backend->as<std::string>();
  if (!ranks.over_mpi()) return std::nullopt;
  ranks.tensor_parallel_size = command->get_option("--tensor-parallel-size")->as<int>();
  ranks.pipeline_parallel_size = command->get_option("--pipeline-parallel-size")->as<int>();
  ranks.trusted_network = command->get_option("--trusted-network")->as<std::string>();
  return runtime::join_mpi(ranks);
}

}  // namespace millrace::app

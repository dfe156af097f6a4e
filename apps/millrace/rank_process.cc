#include "rank_process.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/checksum.h"
#include "cli.h"
#include "runtime/mpi_ranks.h"

namespace millrace::app {
namespace {

// What the hosts of ranks may have otherwise.
constexpr std::string_view kOfHost[] = {
    "--threads", "--cpu-isa", "--trusted-network", "--packed-cache", "--packed-cache-limit", "--config"};

// Defaults are not given.
std::vector<runtime::RankOptions::Given> given_options(const CLI::App& command) {
  std::vector<runtime::RankOptions::Given> given = {{"command " + command.get_name(), 0}};
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const auto& names = option->get_lnames();
    const std::string name = names.empty() ? option->get_name() : "--" + names.front();
    if (std::ranges::find(kOfHost, name) != std::end(kOfHost)) continue;
    std::uint64_t value = 0;
    for (const std::string& result : option->results()) value = checksum(result, value + result.size());
    given.push_back({name, value});
  }
  return given;
}

}  // namespace

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
  const runtime::RankOptions own{.threads = command->get_option("--threads")->as<int>(),
                                 .cpu_isa = command->get_option("--cpu-isa")->as<std::string>(),
                                 .given = given_options(*command)};
  return runtime::join_mpi(ranks, own);
}

}  // namespace millrace::app

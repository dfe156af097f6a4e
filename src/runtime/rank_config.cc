#include "runtime/rank_config.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/cpu.h"
#include "base/cpu_quota.h"
#include "runtime/field_checks.h"

namespace millrace::runtime {

namespace {

Result<void> check_size(const char* flag, const std::vector<double>& shares, int size, const char* of) {
  if (!shares.empty() && std::ssize(shares) != size) {
    return make_error(ErrorCode::kInvalidArgument, flag, "{} has {} numbers: must be one for each of the {} {}", flag,
                      shares.size(), size, of);
  }
  return model::check_shares(flag, shares);
}

std::vector<double> or_equal(const std::vector<double>& shares, int size) {
  return shares.empty() ? std::vector<double>(static_cast<std::size_t>(size), 1.0) : shares;
}

}  // namespace

const std::vector<std::string>& executor_backends() {
  static const std::vector<std::string> names = {"shm", "mpi"};
  return names;
}

Result<void> RankConfig::validate() const {
  if (auto known = one_of("distributed-executor-backend", distributed_executor_backend, executor_backends()); !known) {
    return known;
  }
  if (!trusted_network.empty() && !over_mpi()) {
    return make_error(ErrorCode::kInvalidArgument, "trusted-network",
                      "trusted-network is {}, but distributed-executor-backend is {}: only mpi uses a network",
                      trusted_network, distributed_executor_backend);
  }
  for (const auto& [flag, size] :
       {std::pair{"tensor-parallel-size", tensor_parallel_size}, {"pipeline-parallel-size", pipeline_parallel_size}}) {
    if (size >= 1 && size <= kMaxRanks) continue;
    return make_error(ErrorCode::kInvalidArgument, flag, "{} is {}: must be from 1 to {}", flag, size, kMaxRanks);
  }
  if (ranks() > kMaxRanks) {
    return make_error(ErrorCode::kInvalidArgument, "pipeline-parallel-size",
                      "pipeline-parallel-size is {}: with tensor-parallel-size {} these are {} ranks, of at most {}",
                      pipeline_parallel_size, tensor_parallel_size, ranks(), kMaxRanks);
  }
  if (auto valid = check_size("tensor-parallel-shares", tensor_parallel_shares, tensor_parallel_size, "ranks");
      !valid) {
    return valid;
  }
  return check_size("pipeline-parallel-shares", pipeline_parallel_shares, pipeline_parallel_size, "stages");
}

std::vector<double> RankConfig::shares() const { return or_equal(tensor_parallel_shares, tensor_parallel_size); }

std::vector<double> RankConfig::stage_shares() const {
  return or_equal(pipeline_parallel_shares, pipeline_parallel_size);
}

Result<model::Shards> RankConfig::shards(const model::ModelSpec& spec) const {
  return model::Shards::make(spec, shares(), stage_shares());
}

std::string RankConfig::text() const {
  std::string stages = pipeline_parallel_size > 1 ? fmt::format(" stages {}", pipeline_parallel_size) : "";
  if (!pipeline_parallel_shares.empty()) stages += fmt::format(" of {}", fmt::join(pipeline_parallel_shares, ":"));
  return fmt::format("{}{}", fmt::join(shares(), ":"), stages);
}

Result<int> RankConfig::threads_of_rank(int threads) const {
  if (ranks() == 1) return threads;
  const int usable = usable_threads(), each = threads > 0 ? threads : std::max(1, usable / ranks());
  if (each * ranks() > usable && !allow_oversubscription) {
    const char* flag = tensor_parallel_size > 1 ? "tensor-parallel-size" : "pipeline-parallel-size";
    return make_error(ErrorCode::kInvalidArgument, flag,
                      "{} is {}: {} threads for each of {} ranks are more than the {} processors that this "
                      "process may use. Ranks wait for each other many times in each step, and one that has no "
                      "processor keeps all waiting: steps were 70 times as long; --allow-oversubscription does it "
                      "nevertheless",
                      flag, tensor_parallel_size > 1 ? tensor_parallel_size : pipeline_parallel_size, each, ranks(),
                      usable);
  }
  return each;
}

// A launcher often binds each rank to processors of its own; where it does not, ranks of a host have them together. A
// quota they always have together.
Result<int> RankConfig::threads_over_mpi(int threads, int neighbours) const {
  const int all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)), own = std::max(1, cpu_info().logical_cpus);
  int usable = own * neighbours <= all ? own : own / neighbours;
  if (const double quota = cpu_quota(); quota > 0.0) usable = std::min(usable, static_cast<int>(quota) / neighbours);
  const int each = threads > 0 ? threads : std::max(1, usable);
  if (each <= usable || allow_oversubscription) return each;
  return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-size",
                    "tensor-parallel-size is {}: this rank has {} threads, but {} of the {} processors of its host, "
                    "where {} ranks are. Give mpirun --map-by slot:PE=N, or --bind-to none; a rank that has no "
                    "processor keeps all waiting, which --allow-oversubscription allows nevertheless",
                    tensor_parallel_size, each, usable, all, neighbours);
}

}  // namespace millrace::runtime

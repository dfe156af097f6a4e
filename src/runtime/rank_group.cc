#include "runtime/rank_group.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "base/byte_archive.h"
#include "base/log.h"
#include "comm/timed_communicator.h"
#include "comm/transports/shm.h"
#include "model/block.h"
#include "model/shard.h"
#include "runtime/model_config_fields.h"
#include "runtime/mpi_job.h"

extern char** environ;

namespace millrace::runtime {

namespace {

constexpr std::chrono::seconds kJoin{60};
constexpr std::chrono::seconds kEnd{5};
constexpr std::size_t kBlockBytes = std::size_t{4} << 20;  // of an exchange, at least

// Two blocks, each of at least a row of the widest.
std::size_t memory_bytes(const model::ModelSpec& spec, int ranks) {
  std::int64_t widest = std::max(spec.vocab_size, std::int64_t{1} << 16);
  for (const model::LayerSpec& layer : spec.layers) {
    for (const model::BlockSpec& block : layer.blocks) {
      for (const model::BlockWeight& weight : model::block_weights(block, spec, [](const auto&) { return true; })) {
        widest = std::max({widest, weight.rows + weight.zero_rows, weight.cols + weight.zero_cols});
      }
    }
  }
  const std::size_t row =
      static_cast<std::size_t>(widest) * sizeof(float) * static_cast<std::size_t>(std::max(1, ranks / 8));
  return 2 * (std::max(kBlockBytes, row) + 64);
}

constexpr int kSegment = 3;  // the segment's descriptor in a rank's process

// Of this process's descriptors it has the standard ones and the segment: a socket that it kept would not be closed
// with ours.
pid_t spawn_rank(int descriptor, int rank) {
  const std::string fd = std::to_string(kSegment), number = std::to_string(rank);
  const char* const arguments[] = {"millrace", kFollowRank, fd.c_str(), number.c_str(), nullptr};
  pid_t process = 0;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, descriptor, kSegment);
  posix_spawn_file_actions_addclosefrom_np(&actions, kSegment + 1);
  const int failure =
      posix_spawn(&process, "/proc/self/exe", &actions, nullptr, const_cast<char* const*>(arguments), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    throw_load_error(ErrorCode::kResourceExhausted, "tensor-parallel-size",
                     "tensor-parallel-size: cannot start rank {}: {}", rank, std::strerror(failure));
  }
  return process;
}

bool has_ended(pid_t process) { return waitpid(process, nullptr, WNOHANG) != 0; }

}  // namespace

std::unique_ptr<RankGroup> RankGroup::start(const ModelConfig& config, const model::ModelSpec& spec) {
  config.ranks.shards(spec).or_throw();  // before any of them starts
  std::unique_ptr<RankGroup> group(new RankGroup(config, memory_bytes(spec, config.ranks.tensor_parallel_size)));
  if (config.ranks.over_mpi()) {
    group->over_mpi_ = std::make_unique<ModelOverMpi>(config, group->memory_bytes_);
    group->communicator_ = group->over_mpi_->communicator();
  } else {
    group->communicator_ = group->spawned_ = std::make_shared<comm::ReplaceableCommunicator>(group->spawn());
  }
  group->communicator_ = std::make_shared<comm::TimedCommunicator>(group->communicator_);
  return group;
}

std::unique_ptr<comm::Communicator> RankGroup::spawn() {
  const int ranks = config_.ranks.ranks(), stages = config_.ranks.pipeline_parallel_size;
  const comm::ShmSegment segment =
      comm::ShmSegment::make({.stage_ranks = ranks / stages, .stages = stages, .memory = memory_bytes_}).or_throw();
  for (int rank = 1; rank < ranks; ++rank) processes_.push_back(spawn_rank(segment.descriptor(), rank));
  try {
    std::unique_ptr<comm::Communicator> joined = comm::join_shm(segment.descriptor(), 0, kJoin, processes_).or_throw();
    ByteWriter bytes;
    bytes(log::level(), config_);
    joined->send(bytes.take(), kJoin).or_throw();
    return joined;
  } catch (const LoadError&) {
    end({});  // those that did join wait for the others
    throw;
  }
}

void RankGroup::end(std::chrono::nanoseconds within) noexcept {
  const auto until = std::chrono::steady_clock::now() + within;
  for (const pid_t process : std::exchange(processes_, {})) {
    while (!has_ended(process)) {
      if (std::chrono::steady_clock::now() >= until) {
        kill(process, SIGKILL);
        waitpid(process, nullptr, 0);
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
}

void RankGroup::restart() {
  if (spawned_ == nullptr) refuse_restart_over_mpi();
  end({});
  spawned_->replace(spawn());
}

void RankGroup::give_up(const Error& why) noexcept {
  if (spawned_ == nullptr) give_up_over_mpi(why);
}

RankGroup::~RankGroup() {
  communicator_.reset();
  over_mpi_.reset();
  spawned_.reset();
  end(kEnd);
}

}  // namespace millrace::runtime

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/log.h"
#include "comm/communicator.h"
#include "comm/transports/mpi.h"
#include "runtime/model_config.h"

namespace millrace::runtime {

// The job of MPI that this process is a rank of, if it has joined one (mpi_ranks.h). Never destroyed: a library of MPI
// has threads of its own.
struct MpiJob {
  std::shared_ptr<comm::MpiRanks> ranks;  // null: none
  bool has_left = false;
  // Rank 0: of what follows, and of group 0, on which it says which models there are. Each has a group of its own.
  std::mutex mutex;
  std::array<bool, comm::kMpiGroups> has_model{};
};
MpiJob& mpi_job();
// Ranks on this host, itself included.
int mpi_neighbours();

// What rank 0 says on group 0: a model begins in a group, or it ends and then, when it has on all ranks, its group is
// cleared; the others answer each of the two once it is done. No bytes at all: it is time to leave.
struct MpiModel {
  enum class Is : std::uint8_t { kBegun, kEnded, kCleared };
  std::int32_t group = 0;
  Is is = Is::kBegun;
  std::uint64_t memory = 0;  // of exchanges
  log::Level level = log::Level::kInfo;
  ModelConfig config = {};
};
std::vector<std::byte> bytes_of(MpiModel model);
// Throws LoadError where rank 0 is of another version.
MpiModel read_mpi_model(std::span<const std::byte> bytes);

// Rank 0: a model that all ranks have, which they load at once. Throws LoadError: kUnsupported where this program has
// joined no job, kResourceExhausted where that has a model in each group.
class ModelOverMpi {
 public:
  ModelOverMpi(const ModelConfig& config, std::size_t memory_bytes);
  ~ModelOverMpi();  // waits until the others have ended it; the communicator must be out of use
  ModelOverMpi(const ModelOverMpi&) = delete;
  ModelOverMpi& operator=(const ModelOverMpi&) = delete;
  std::shared_ptr<comm::Communicator> communicator() const;

 private:
  int group_ = 0;
};

void give_up_over_mpi(const Error& why) noexcept;
[[noreturn]] void refuse_restart_over_mpi();

}  // namespace millrace::runtime

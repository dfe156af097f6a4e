#include "runtime/mpi_job.h"

#include <algorithm>
#include <chrono>
#include <optional>

#include "base/byte_archive.h"
#include "base/log.h"
#include "runtime/model_config_fields.h"

namespace millrace::runtime {

MpiJob& mpi_job() {
  static auto* const job = new MpiJob;
  return *job;
}

int mpi_neighbours() {
  const auto& group = mpi_job().group;
  if (group == nullptr) return 1;
  const auto& members = group->members();
  const std::string& host = members[static_cast<std::size_t>(group->rank())].host;
  return static_cast<int>(std::ranges::count(members, host, &comm::MpiCommunicator::Member::host));
}

std::shared_ptr<comm::Communicator> begin_over_mpi(const ModelConfig& config, std::size_t memory_bytes) {
  constexpr std::chrono::seconds kSend{60};
  const auto& group = mpi_job().group;
  if (group == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "distributed-executor-backend",
                     "distributed-executor-backend is mpi, which this program has not joined");
  }
  if (mpi_job().has_model.exchange(true)) {
    throw_load_error(ErrorCode::kUnsupported, "distributed-executor-backend",
                     "distributed-executor-backend is mpi: ranks have one model at a time, and they have one");
  }
  group->allocate(memory_bytes).or_throw();
  ByteWriter bytes;
  bytes(static_cast<std::uint64_t>(memory_bytes), log::level(), config);
  group->send(bytes.take(), kSend).or_throw();
  return group;
}

void end_over_mpi() noexcept { mpi_job().has_model = false; }

void give_up_over_mpi(const Error& why) noexcept { mpi_job().group->lose(why); }

void refuse_restart_over_mpi() {
  const std::optional<Error> lost = mpi_job().group->lost();
  throw_load_error(ErrorCode::kInternal, "rank", "{}", lost ? lost->message : "ranks over MPI are not started anew");
}

}  // namespace millrace::runtime

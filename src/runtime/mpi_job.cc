#include "runtime/mpi_job.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "base/byte_archive.h"
#include "runtime/model_config_fields.h"

namespace millrace::runtime {
namespace {

constexpr std::chrono::seconds kSend{60}, kClear{10};
constexpr std::chrono::minutes kEndModel{10};  // a rank may still be loading it

Result<void> end_model(MpiJob& job, int group) {
  comm::MpiGroup& control = job.ranks->group(0);
  for (const MpiModel::Is is : {MpiModel::Is::kEnded, MpiModel::Is::kCleared}) {
    if (auto sent = control.send(bytes_of({.group = group, .is = is}), kSend); !sent) return sent;
    if (is == MpiModel::Is::kCleared) {
      if (auto cleared = job.ranks->group(group).clear(kClear); !cleared) return cleared;
    }
    for (int rank = 1; rank < job.ranks->ranks(); ++rank) {
      if (auto answered = control.collect(rank, kEndModel); !answered) return answered.error();
    }
  }
  return {};
}

}  // namespace

template <typename Archive>
void visit_fields(Archive& archive, MpiModel& model) {
  archive(model.group, model.is, model.memory, model.level, model.config);
}

MpiJob& mpi_job() {
  static auto* const job = new MpiJob;
  return *job;
}

int mpi_neighbours() {
  const auto& ranks = mpi_job().ranks;
  if (ranks == nullptr) return 1;
  const auto& members = ranks->members();
  const std::string& host = members[static_cast<std::size_t>(ranks->rank())].host;
  return static_cast<int>(std::ranges::count(members, host, &comm::MpiRanks::Member::host));
}

std::vector<std::byte> bytes_of(MpiModel model) {
  ByteWriter bytes;
  bytes(model);
  return bytes.take();
}

MpiModel read_mpi_model(std::span<const std::byte> bytes) {
  MpiModel model;
  ByteReader reader(bytes);
  reader(model);
  if (!reader.ok() || reader.left() > 0 || model.is > MpiModel::Is::kCleared || model.group < 1 ||
      model.group >= comm::kMpiGroups) {
    throw_load_error(ErrorCode::kBadFile, "", "rank 0 is of another version of millrace");
  }
  return model;
}

ModelOverMpi::ModelOverMpi(const ModelConfig& config, std::size_t memory_bytes) {
  MpiJob& job = mpi_job();
  if (job.ranks == nullptr) {
    throw_load_error(ErrorCode::kUnsupported, "distributed-executor-backend",
                     "distributed-executor-backend is mpi, which this program has not joined");
  }
  const std::scoped_lock lock(job.mutex);
  while (++group_ < comm::kMpiGroups && job.has_model[static_cast<std::size_t>(group_)]) {
  }
  if (group_ == comm::kMpiGroups) {
    throw_load_error(ErrorCode::kResourceExhausted, "distributed-executor-backend",
                     "distributed-executor-backend is mpi: ranks have {} models, and can have no more",
                     comm::kMpiGroups - 1);
  }
  job.ranks->group(group_).allocate(memory_bytes).or_throw();
  const MpiModel model{.group = group_, .memory = memory_bytes, .level = log::level(), .config = config};
  job.ranks->group(0).send(bytes_of(model), kSend).or_throw();
  job.has_model[static_cast<std::size_t>(group_)] = true;
}

ModelOverMpi::~ModelOverMpi() {
  MpiJob& job = mpi_job();
  const std::scoped_lock lock(job.mutex);
  if (!job.ranks->lost() && end_model(job, group_)) job.has_model[static_cast<std::size_t>(group_)] = false;
}

std::shared_ptr<comm::Communicator> ModelOverMpi::communicator() const {
  return {mpi_job().ranks, &mpi_job().ranks->group(group_)};
}

void give_up_over_mpi(const Error& why) noexcept { mpi_job().ranks->lose(why); }

void refuse_restart_over_mpi() {
  const std::optional<Error> lost = mpi_job().ranks->lost();
  throw_load_error(ErrorCode::kInternal, "rank", "{}", lost ? lost->message : "ranks over MPI are not started anew");
}

}  // namespace millrace::runtime

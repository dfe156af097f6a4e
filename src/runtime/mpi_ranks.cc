#include "runtime/mpi_ranks.h"

#include <fmt/ranges.h>
#include <net/if.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/log.h"
#include "comm/transports/join_mpi.h"
#include "comm/transports/load_mpi.h"
#include "runtime/follow_rank.h"
#include "runtime/mpi_job.h"
#include "runtime/rank_meeting.h"

namespace millrace::runtime {
namespace {

constexpr int kLostRank = 70;  // EX_SOFTWARE, as where an engine fails
constexpr std::chrono::seconds kMeet{60}, kClears{10}, kLeave{2}, kLeaveAtLast{4};
// Between the loss of a rank and the end of the process: for errors to reach clients. mpirun of Open MPI 4 gives
// processes a second when one of them was killed.
constexpr std::chrono::milliseconds kLastWords{700};
constexpr std::chrono::seconds kFollowerWaits{3};  // for rank 0 to end the job
constexpr std::chrono::hours kAnyLongTime{24 * 365 * 10};

int code_of(const Error& lost) { return lost.code == ErrorCode::kUnavailable ? kLostRank : exit_code(lost.code); }

void end_after(std::chrono::milliseconds time, int code, std::string why) {
  std::thread([time, code, why = std::move(why)] {
    std::this_thread::sleep_for(time);
    if (!why.empty()) log::error("{}; this ends with exit code {}", why, code);
    log::flush();
    _exit(code);
  }).detach();
}

std::string own_host() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Before the library starts: it listens on all networks otherwise.
void use_network(const std::string& interface) {
  if (interface.empty()) return;
  if (if_nametoindex(interface.c_str()) == 0) {
    throw_load_error(ErrorCode::kInvalidArgument, "trusted-network",
                     "trusted-network is {}: host {} has no such network interface", interface, own_host());
  }
  for (const char* variable : {"OMPI_MCA_btl_tcp_if_include", "UCX_NET_DEVICES"}) {
    setenv(variable, interface.c_str(), 1);
  }
}

// As far as launchers say it: others of the host find the same, which need not be said twice.
bool is_first_of_host() {
  for (const char* variable : {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}) {
    if (const char* rank = std::getenv(variable); rank != nullptr && std::string_view(rank) != "0") return false;
  }
  return true;
}

// Threads that the library starts must not get what the program's own wait for.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t held;
    sigemptyset(&held);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&held, signal);
    pthread_sigmask(SIG_BLOCK, &held, &before_);
  }
  ~HeldSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

 private:
  sigset_t before_ = {};
};

// What is wrong with the processes that were started, for rank 0 to say.
Result<void> check(const comm::MpiRanks& job, const RankConfig& ranks) {
  if (job.ranks() != ranks.ranks()) {
    const std::string stages =
        ranks.pipeline_parallel_size > 1 ? fmt::format(" of {} stages", ranks.pipeline_parallel_size) : "";
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-size",
                      "tensor-parallel-size is {}{}, but {} {} started: mpirun -np must have the same number",
                      ranks.tensor_parallel_size, stages, job.ranks(),
                      job.ranks() == 1 ? "process was" : "processes were");
  }
  std::set<std::string> hosts;
  for (const comm::MpiRanks::Member& member : job.members()) hosts.insert(member.host);
  if (hosts.size() > 1 && ranks.trusted_network.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "trusted-network",
                      "ranks are on the hosts {}, and MPI neither encrypts nor authenticates: name the interface "
                      "of a network that nobody else reaches, as --trusted-network eth1",
                      fmt::join(hosts, ", "));
  }
  return {};
}

// Rank 0 takes what all others say before it refuses any: none must be left with a message on its way.
Result<void> check_options(comm::MpiRanks& ranks, const RankOptions& own) {
  std::optional<Error> different;
  for (int rank = 1; rank < ranks.ranks(); ++rank) {
    const auto told = ranks.group(0).collect(rank, kMeet);
    if (!told) return told.error();
    const auto other = other_options(own, *told);
    if (!other || different) continue;
    different =
        make_error(ErrorCode::kInvalidArgument, "distributed-executor-backend",
                   "{} has {} than rank 0: all ranks must have the same command line", ranks.name_of(rank), *other);
  }
  return different ? Result<void>(*different) : Result<void>();
}

// A model of this rank, on a thread of its own.
void follow_one_model(comm::MpiRanks& ranks, const MpiModel& model, const RankOptions& own) {
  // Does not own it: a job lives as long as the process.
  const std::shared_ptr<comm::MpiGroup> group(std::shared_ptr<void>(), &ranks.group(model.group));
  bool is_loaded = true;  // or it may yet be
  const auto not_loaded = [&](const Error& why) {
    is_loaded = false;
    report_not_loaded(why, *group);
  };
  try {
    ModelConfig config = model.config;
    const auto prepared = [&]() -> Result<void> {
      if (auto memory = group->allocate(model.memory); !memory) return memory;
      config.cpu_isa = own.cpu_isa;
      config.threads = own.threads;
      if (auto valid = config.validate(); !valid) return valid;
      const auto threads = config.ranks.threads_over_mpi(own.threads, mpi_neighbours());
      if (!threads) return threads.error();
      config.threads = *threads;
      return {};
    }();
    if (!prepared) return not_loaded(prepared.error());
    follow_model(model.level, config, group, not_loaded);
  } catch (const LoadError& failure) {
    const bool is_over = failure.error().code == ErrorCode::kCancelled;
    if (is_loaded && !is_over) ranks.lose(failure.error());  // rank 0 says it
  } catch (const std::bad_alloc&) {
    ranks.lose(make_error(ErrorCode::kResourceExhausted, "", "out of memory"));
  }
}

void follow_models(comm::MpiRanks& ranks, const RankOptions& own) {
  comm::MpiGroup& control = ranks.group(0);
  std::map<int, std::jthread> models;  // by group
  const auto end = [&](int group) {
    ranks.group(group).cancel();
    models.erase(group);
  };
  while (true) {
    const std::vector<std::byte> bytes = control.receive(kAnyLongTime).or_throw();
    if (bytes.empty()) break;
    MpiModel model = read_mpi_model(bytes);
    if (models.contains(model.group) != (model.is == MpiModel::Is::kEnded)) {
      throw_load_error(ErrorCode::kInternal, "", "rank 0 is wrong about which models there are");
    }
    if (model.is == MpiModel::Is::kBegun) {
      models.emplace(model.group, [&ranks, &own, model = std::move(model)] { follow_one_model(ranks, model, own); });
      continue;
    }
    if (model.is == MpiModel::Is::kEnded) end(model.group);
    if (model.is == MpiModel::Is::kCleared) ranks.group(model.group).clear(kClears).or_throw();
    control.answer({}, kMeet).or_throw();
  }
  while (!models.empty()) end(models.begin()->first);
}

int follow(comm::MpiRanks& ranks, const RankOptions& own) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // rank 0 ends it
  ranks.on_lost([](const Error& why) { end_after(kFollowerWaits, code_of(why), ""); });
  try {
    ranks.group(0).answer(told_options(own), kMeet).or_throw();
    follow_models(ranks, own);
    ranks.leave(kMeet).or_throw();
    return 0;
  } catch (const LoadError& failure) {
    ranks.lose(failure.error());  // rank 0 says it
  } catch (const std::bad_alloc&) {
    ranks.lose(make_error(ErrorCode::kResourceExhausted, "", "out of memory"));
  }
  while (true) pause();
}

}  // namespace

std::optional<int> join_mpi(const RankConfig& ranks, const RankOptions& options) {
  if (!ranks.over_mpi() || mpi_job().ranks != nullptr) return std::nullopt;
  std::shared_ptr<comm::MpiRanks>& job = mpi_job().ranks;
  try {
    ranks.validate().or_throw();
    use_network(ranks.trusted_network);
    const comm::MpiCalls& calls = *comm::load_mpi().or_throw();
    const HeldSignals held;
    job = comm::join_mpi(calls, ranks.pipeline_parallel_size, kMeet).or_throw();
    log::debug("{} of {} by {}", job->name_of(job->rank()), job->ranks(), calls.library());
  } catch (const LoadError& failure) {
    if (is_first_of_host()) throw;
    return exit_code(failure.error().code);
  }
  if (job->rank() != 0) {
    const int code = follow(*job, options);
    mpi_job().has_left = true;
    return code;
  }
  job->on_lost([](const Error& why) { end_after(kLastWords, code_of(why), why.message); });
  Result<void> same = check_options(*job, options);
  check(*job, ranks).or_throw();
  std::move(same).or_throw();
  return std::nullopt;
}

int leave_mpi(int code) noexcept {
  const std::shared_ptr<comm::MpiRanks>& job = mpi_job().ranks;
  if (job == nullptr || std::exchange(mpi_job().has_left, true)) return code;
  std::fflush(nullptr);
  if (!job->lost()) {
    end_after(kLeaveAtLast, code, "");
    if (job->group(0).send({}, kLeave) && job->leave(kLeave)) return code;
  }
  const Error why = job->lost().value_or(Error{ErrorCode::kUnavailable, "", "the ranks did not leave together"});
  if (code != code_of(why)) log::error("{}; this ends with exit code {}", why.message, code_of(why));
  log::flush();
  _exit(code_of(why));  // other threads may wait for ever, and the library for ranks that are gone
}

}  // namespace millrace::runtime

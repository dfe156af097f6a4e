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
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "base/byte_archive.h"
#include "base/log.h"
#include "comm/transports/load_mpi.h"
#include "comm/transports/mpi.h"
#include "runtime/follow_rank.h"
#include "runtime/model_config_fields.h"
#include "runtime/mpi_job.h"

namespace millrace::runtime {
namespace {

using Group = comm::MpiCommunicator;

constexpr int kLostRank = 70;  // EX_SOFTWARE, as where an engine fails
constexpr std::chrono::seconds kMeet{60}, kLeave{2}, kLeaveAtLast{4};
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
Result<void> check(const Group& group, const RankConfig& ranks) {
  if (group.ranks() != ranks.ranks()) {
    const std::string stages =
        ranks.pipeline_parallel_size > 1 ? fmt::format(" of {} stages", ranks.pipeline_parallel_size) : "";
    return make_error(ErrorCode::kInvalidArgument, "tensor-parallel-size",
                      "tensor-parallel-size is {}{}, but {} {} started: mpirun -np must have the same number",
                      ranks.tensor_parallel_size, stages, group.ranks(),
                      group.ranks() == 1 ? "process was" : "processes were");
  }
  std::set<std::string> hosts;
  for (const Group::Member& member : group.members()) hosts.insert(member.host);
  if (hosts.size() > 1 && ranks.trusted_network.empty()) {
    return make_error(ErrorCode::kInvalidArgument, "trusted-network",
                      "ranks are on the hosts {}, and MPI neither encrypts nor authenticates: name the interface "
                      "of a network that nobody else reaches, as --trusted-network eth1",
                      fmt::join(hosts, ", "));
  }
  return {};
}

// Rank 0 takes what all others say before it refuses any: none must be left with a message on its way.
Result<void> check_options(Group& group, const RankOptions& own) {
  std::optional<Error> different;
  for (int rank = 1; rank < group.ranks(); ++rank) {
    const auto told = group.collect(rank, kMeet);
    if (!told) return told.error();
    const auto other = other_options(own, *told);
    if (!other || different) continue;
    different =
        make_error(ErrorCode::kInvalidArgument, "distributed-executor-backend",
                   "{} has {} than rank 0: all ranks must have the same command line", group.name_of(rank), *other);
  }
  return different ? Result<void>(*different) : Result<void>();
}

void follow_models(const std::shared_ptr<Group>& group, const RankOptions& own) {
  while (true) {
    const std::vector<std::byte> bytes = group->receive(kAnyLongTime).or_throw();
    if (bytes.empty()) return;
    std::uint64_t memory = 0;
    log::Level level = log::Level::kInfo;
    ModelConfig config;
    ByteReader reader(bytes);
    reader(memory, level, config);
    if (!reader.ok() || reader.left() > 0) {
      throw_load_error(ErrorCode::kBadFile, "", "rank 0 is of another version of millrace");
    }
    group->allocate(memory).or_throw();
    config.cpu_isa = own.cpu_isa;
    config.threads = own.threads;
    config.validate().or_throw();
    config.threads = config.ranks.threads_over_mpi(own.threads, mpi_neighbours()).or_throw();
    follow_model(level, config, group);
  }
}

int follow(const std::shared_ptr<Group>& group, const RankOptions& own) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);  // rank 0 ends it
  group->on_lost([](const Error& why) { end_after(kFollowerWaits, code_of(why), ""); });
  try {
    group->answer(told_options(own), kMeet).or_throw();
    follow_models(group, own);
    group->leave(kMeet).or_throw();
    return 0;
  } catch (const LoadError& failure) {
    group->lose(failure.error());  // rank 0 says it
  } catch (const std::bad_alloc&) {
    group->lose(make_error(ErrorCode::kResourceExhausted, "", "out of memory"));
  }
  while (true) pause();
}

}  // namespace

std::optional<int> join_mpi(const RankConfig& ranks, const RankOptions& options) {
  if (!ranks.over_mpi() || mpi_job().group != nullptr) return std::nullopt;
  std::shared_ptr<Group>& group = mpi_job().group;
  try {
    ranks.validate().or_throw();
    use_network(ranks.trusted_network);
    const comm::MpiCalls& calls = *comm::load_mpi().or_throw();
    const HeldSignals held;
    group = comm::join_mpi(calls, ranks.pipeline_parallel_size, kMeet).or_throw();
    log::debug("{} of {} by {}", group->name_of(group->rank()), group->ranks(), calls.library());
  } catch (const LoadError& failure) {
    if (is_first_of_host()) throw;
    return exit_code(failure.error().code);
  }
  if (group->rank() != 0) {
    const int code = follow(group, options);
    mpi_job().has_left = true;
    return code;
  }
  group->on_lost([](const Error& why) { end_after(kLastWords, code_of(why), why.message); });
  Result<void> same = check_options(*group, options);
  check(*group, ranks).or_throw();
  std::move(same).or_throw();
  return std::nullopt;
}

int leave_mpi(int code) noexcept {
  const std::shared_ptr<Group>& group = mpi_job().group;
  if (group == nullptr || std::exchange(mpi_job().has_left, true)) return code;
  std::fflush(nullptr);
  if (!group->lost()) {
    end_after(kLeaveAtLast, code, "");
    if (group->send({}, kLeave) && group->leave(kLeave)) return code;
  }
  const Error why = group->lost().value_or(Error{ErrorCode::kUnavailable, "", "the ranks did not leave together"});
  if (code != code_of(why)) log::error("{}; this ends with exit code {}", why.message, code_of(why));
  log::flush();
  _exit(code_of(why));  // other threads may wait for ever, and the library for ranks that are gone
}

}  // namespace millrace::runtime

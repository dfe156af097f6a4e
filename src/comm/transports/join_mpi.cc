#include "comm/transports/join_mpi.h"

#include <array>
#include <deque>
#include <utility>

#include "base/byte_archive.h"
#include "comm/transports/mpi_end.h"
#include "comm/transports/mpi_hello.h"
#include "comm/transports/mpi_life.h"
#include "comm/transports/mpi_process.h"

namespace millrace::comm {
namespace {

class JoinedRank final : public MpiRanks {
 public:
  JoinedRank(const MpiCalls& calls, int stages, int rank, int ranks)
      : process_{.calls = calls, .rank = rank, .ranks = ranks, .stages = stages},
        beats_(calls, mpi_way(0, MpiChannel::kLife), ranks) {
    for (int group = 0; group < kMpiGroups; ++group) groups_.emplace_back(process_, group);
  }
  ~JoinedRank() override { process_.life.reset(); }  // its thread uses what goes before the process does

  // Tells the others who this rank is, over the leader.
  Result<void> meet(Communicator::Timeout timeout) {
    MpiEnd& group = groups_[0];
    ByteWriter own;
    own(own_hello(process_.stages));
    std::vector<std::vector<std::byte>> all(static_cast<std::size_t>(ranks()));
    all[static_cast<std::size_t>(rank())] = own.take();
    for (int other = 1; rank() == 0 && other < ranks(); ++other) {
      auto come = group.collect(other, timeout);
      if (!come) return come.error();
      all[static_cast<std::size_t>(other)] = *std::move(come);
    }
    if (rank() == 0) {
      ByteWriter told;
      told(all);
      if (auto sent = group.send(told.take(), timeout); !sent) return sent;
    } else {
      if (auto sent = group.answer(all[static_cast<std::size_t>(rank())], timeout); !sent) return sent;
      auto told = group.receive(timeout);
      if (!told) return told.error();
      ByteReader reader(*told);
      reader(all);
      if (!reader.ok()) all.clear();
    }
    return know(all);
  }

  int rank() const noexcept override { return process_.rank; }
  int ranks() const noexcept override { return process_.ranks; }
  const std::vector<Member>& members() const noexcept override { return process_.members; }
  std::string name_of(int rank) const override { return process_.name_of(rank); }
  MpiGroup& group(int number) noexcept override { return groups_[static_cast<std::size_t>(number)]; }

  std::optional<Error> lost() const override { return process_.life ? process_.life->lost() : std::nullopt; }
  void lose(const Error& why) override { process_.life->lose(why); }
  void on_lost(std::function<void(const Error&)> call) override { process_.life->on_lost(std::move(call)); }

  Result<void> leave(Communicator::Timeout timeout) override {
    for (MpiEnd& group : groups_) {
      if (auto gone = group.flush(timeout); !gone) return gone;
    }
    process_.life.reset();
    int error = 0;
    {
      const std::scoped_lock lock(process_.mutex);
      error = process_.calls.finish();
    }
    return error == 0 ? Result<void>() : process_.error_of(error);
  }

 private:
  Result<void> know(const std::vector<std::vector<std::byte>>& all) {
    const auto told = read_hellos(all, ranks(), process_.stages);
    if (!told) return told.error();
    const std::vector<MpiHello>& hellos = *told;
    for (const MpiHello& hello : hellos) process_.members.push_back({hello.host, hello.process});
    const MpiHello& own = hellos[static_cast<std::size_t>(rank())];
    std::vector<MpiLife::Rank> ranks;
    for (std::size_t i = 0; i < hellos.size(); ++i) {
      const bool sees = hellos[i].boot == own.boot && hellos[i].process_namespace == own.process_namespace;
      ranks.push_back({name_of(static_cast<int>(i)), sees ? hellos[i].process : 0});
    }
    process_.life = std::make_unique<MpiLife>(beats_, process_.mutex, process_.published, std::move(ranks), rank(),
                                              [this](int error) { return process_.error_of(error); });
    return {};
  }

  MpiProcess process_;
  MpiMail beats_;
  std::deque<MpiEnd> groups_;
};

}  // namespace

Result<std::shared_ptr<MpiRanks>> join_mpi(const MpiCalls& calls, int stages, Communicator::Timeout timeout) {
  int rank = 0, ranks = 1;
  if (const int error = calls.start(stages, &rank, &ranks)) {
    std::array<char, 256> text{};
    calls.describe(error, text.data(), text.size());
    return make_error(ErrorCode::kUnsupported, "distributed-executor-backend", "{} cannot be used: {}", calls.library(),
                      text.data());
  }
  if (ranks % stages != 0) {
    return make_error(ErrorCode::kInvalidArgument, "pipeline-parallel-size",
                      "{} processes were started, which are not {} stages of equally many", ranks, stages);
  }
  auto made = std::make_shared<JoinedRank>(calls, stages, rank, ranks);
  if (auto met = made->meet(timeout); !met) return met.error();
  return std::shared_ptr<MpiRanks>(std::move(made));
}

}  // namespace millrace::comm

#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "comm/transports/mpi_mail.h"

namespace millrace::comm {

// How many blocks a rank has published, by group.
using MpiPublished = std::array<std::atomic<std::uint64_t>, kMpiGroups>;

// Whether the ranks of a job live. MPI says nothing of a rank that stops, and often nothing of one that ends: so the
// leader and each other rank send each other a beat five times a second, from a thread of their own; a rank of the same
// host is watched by the system too. Any thread, but for what is said otherwise.
class MpiLife {
 public:
  struct Rank {
    std::string name;
    int process = 0;  // of this host, in this namespace of processes; 0: it is none
  };
  // `calls`: held while the library is called. `published`: of this rank; the leader gets to know it. The
  // mail is this one's alone.
  MpiLife(MpiMail& mail, std::mutex& calls, const MpiPublished& published, std::vector<Rank> ranks, int rank,
          std::function<Error(int)> error_of);
  ~MpiLife();  // ends the thread
  MpiLife(const MpiLife&) = delete;
  MpiLife& operator=(const MpiLife&) = delete;

  bool is_lost() const noexcept { return is_lost_.load(std::memory_order_relaxed); }
  std::optional<Error> lost() const;
  // The first counts, and what on_lost() has set is called. The other ranks are told.
  void lose(const Error& why);
  void on_lost(std::function<void(const Error&)> call);
  // Leader: a rank that is silent, or else one that has not published the block of the group; 0: there is none.
  int late(int group, std::uint64_t block) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Watched {
    int rank = 0;
    int process = -1;  // a pidfd
    Clock::time_point heard;
    std::vector<std::uint64_t> published;  // by group
  };
  void run();
  bool sleep();          // until the next beat; false: it is to end
  int exchange_beats();  // this and the next: an error of the library
  int exchange_with(Watched& it, const std::shared_ptr<const MpiMail::Message>& own, bool is_last);
  void read(Watched& from, const MpiMail::Message& message);
  void look_for_the_silent(Clock::time_point before);

  MpiMail& mail_;
  std::mutex& calls_;
  const MpiPublished& published_;
  const std::vector<Rank> ranks_;
  const int rank_;
  const std::function<Error(int)> error_of_;
  mutable std::mutex mutex_;  // of what follows
  std::vector<Watched> watched_;
  std::optional<Error> lost_;
  std::function<void(const Error&)> call_;
  bool has_told_ = false;
  std::atomic<bool> is_lost_{false}, ends_{false};
  int wake_ = -1;  // an eventfd
  std::jthread thread_;
};

}  // namespace millrace::comm

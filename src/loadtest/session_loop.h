#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "loadtest/client/load_client.h"
#include "loadtest/load_hooks.h"
#include "loadtest/request_body.h"
#include "loadtest/request_record.h"
#include "loadtest/upcoming_sessions.h"
#include "loadtest/workload.h"

namespace millrace::loadtest {

// The sessions of a workload to send, and their times: the warm-up of a run, or its counted part.
struct LoopPlan {
  std::uint64_t first = 0, sessions = 0;
  std::span<const double> starts;  // as in LoadPlan; empty = closed loop
  std::int64_t users = 0;
  double think_s = 0.0, seconds = 0.0, request_timeout_s = 0.0, disconnect_fraction = 0.0;
  std::uint64_t seed = 0;
  bool warmup = false;
  std::int64_t first_record = 0;  // index of the first request
};

// Begins sessions when they are due and sends each turn after the answer to the one before, until all have ended. One
// thread.
class SessionLoop {
 public:
  SessionLoop(LoadClient& client, const RequestStyle& style, const Workload& workload, const LoopPlan& plan,
              const LoadHooks& hooks);

  void run();  // call it once; everything that can be prepared before the clock starts is prepared first
  double began() const noexcept { return began_; }  // the client's seconds at time 0 of the records
  bool stopped() const noexcept { return stopped_; }
  std::vector<RequestRecord>& records() noexcept { return records_; }  // in the order in which they ended

 private:
  // A session between its first request and the end of its last.
  struct Live {
    std::uint64_t index = 0;
    Session session;
    std::size_t turn = 0;
    std::vector<Exchange> before;
    std::string body;  // of the turn
    const Turn& now() const { return session.turns[turn]; }
  };

  void send_due();
  bool begin_next(double now);
  double next_begin() const;  // infinite: none at the moment
  bool may_begin(double now) const;
  void send(std::unique_ptr<Live> live, double due);
  std::int64_t leave_after(const Live& live) const;
  void take_ended();
  void go_on(std::unique_ptr<Live> live, const RequestRecord& record);
  void make_ahead_or_wait();
  void call_hooks();

  LoadClient& client_;
  const RequestStyle& style_;
  const LoopPlan plan_;
  const LoadHooks& hooks_;
  UpcomingSessions upcoming_;
  double began_ = 0.0, limit_ = 0.0;
  std::size_t begun_ = 0;      // sessions
  std::deque<double> rested_;  // closed loop: when users are ready for another session, ascending
  std::int64_t living_ = 0;    // sessions begun and not at their end
  std::multimap<double, std::unique_ptr<Live>> turns_;                 // by when they are due
  std::unordered_map<std::int64_t, std::unique_ptr<Live>> in_flight_;  // by index of the request
  std::vector<RequestRecord> records_;
  Progress progress_;
  double next_stop_check_ = 0.0, next_progress_ = 0.0;
  bool stopped_ = false;
};

}  // namespace millrace::loadtest

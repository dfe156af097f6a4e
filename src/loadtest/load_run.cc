#include "loadtest/load_run.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "loadtest/client/load_client.h"
#include "loadtest/session_loop.h"

namespace millrace::loadtest {
namespace {

// Linux lets a thread's timers be 50 us late to save wake-ups; what is due is sent when it is due.
class PreciseTimers {
 public:
  PreciseTimers() : before_(::prctl(PR_GET_TIMERSLACK)) { ::prctl(PR_SET_TIMERSLACK, 1UL); }
  ~PreciseTimers() { ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max(before_, 0))); }
  PreciseTimers(const PreciseTimers&) = delete;
  PreciseTimers& operator=(const PreciseTimers&) = delete;

 private:
  const int before_;
};

double cpu_seconds() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::uint64_t counted_sessions(const LoadPlan& plan, const Workload& workload) {
  auto count = static_cast<std::uint64_t>(std::max<std::int64_t>(plan.sessions, 0));
  if (!plan.starts.empty()) count = std::min<std::uint64_t>(count, plan.starts.size());
  return std::min(count, workload.sessions().value_or(count));
}

// With the sessions that follow on those that count, so that those are the same ones whatever the warm-up is, and none
// of them finds its prompt cached.
LoopPlan warmup_of(const LoadPlan& plan, std::uint64_t counted) {
  return {.first = counted,
          .sessions = static_cast<std::uint64_t>(plan.warmup),
          .users = std::max<std::int64_t>(plan.users, 1),
          .request_timeout_s = plan.request_timeout_s,
          .warmup = true};
}

// Moves the records' time 0 to that of another loop.
void shift(std::vector<RequestRecord>& records, double by) {
  for (RequestRecord& record : records) {
    for (double* time : {&record.due, &record.sent, &record.ended}) *time += by;
    if (record.status != 0) record.first_byte += by;
    for (double& time : record.events) time += by;
  }
}

double seconds_of(const std::vector<RequestRecord>& records) {
  double first = 0.0, last = 0.0;
  bool any = false;
  for (const RequestRecord& record : records) {
    if (record.warmup) continue;
    first = any ? std::min(first, record.due) : record.due;
    last = any ? std::max(last, record.ended) : record.ended;
    any = true;
  }
  return last - first;
}

}  // namespace

LoadRun run_load(const Target& target, const RequestStyle& style, const Workload& workload, const LoadPlan& plan,
                 const LoadHooks& hooks) {
  LoadClient client(target);
  const PreciseTimers timers;
  LoadRun run;
  const std::uint64_t counted = counted_sessions(plan, workload);
  double warmup_began = 0.0;
  if (plan.warmup > 0 && workload.sessions() != std::uint64_t{0}) {
    SessionLoop warmup(client, style, workload, warmup_of(plan, counted), hooks);
    warmup.run();
    run.stopped = warmup.stopped();
    run.records = std::move(warmup.records());
    warmup_began = warmup.began();
  }
  const double cpu = cpu_seconds();
  SessionLoop loop(client, style, workload,
                   {.sessions = run.stopped ? 0 : counted,
                    .starts = plan.starts,
                    .users = plan.users,
                    .think_s = plan.think_s,
                    .seconds = plan.seconds,
                    .request_timeout_s = plan.request_timeout_s,
                    .disconnect_fraction = plan.disconnect_fraction,
                    .seed = plan.seed,
                    .first_record = static_cast<std::int64_t>(run.records.size())},
                   hooks);
  loop.run();
  run.client_cpu_s = cpu_seconds() - cpu;
  run.stopped = run.stopped || loop.stopped();
  run.started = client.at(loop.began());
  const std::chrono::duration<double> unix_now = std::chrono::system_clock::now().time_since_epoch();
  run.started_unix_s = unix_now.count() - std::chrono::duration<double>(Clock::now() - run.started).count();
  shift(run.records, warmup_began - loop.began());
  std::ranges::move(loop.records(), std::back_inserter(run.records));
  std::ranges::sort(run.records, {}, &RequestRecord::index);
  run.seconds = seconds_of(run.records);
  return run;
}

}  // namespace millrace::loadtest

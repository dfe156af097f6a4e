#include "loadtest/session_loop.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/counter_rng.h"

namespace millrace::loadtest {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kStopCheck = 0.05, kProgress = 0.2;  // seconds between calls of the hooks
// Bodies are made ahead only while nothing is due for so long.
constexpr double kQuiet = 0.004, kGlance = 0.0001;
constexpr std::uint64_t kDisconnect = 0x6162616e646f6eull;  // apart from the numbers of workloads and arrivals

bool failed(const RequestRecord& record) {
  return !record.good() && record.outcome != Outcome::kDisconnected && record.outcome != Outcome::kStopped;
}

}  // namespace

SessionLoop::SessionLoop(LoadClient& client, const RequestStyle& style, const Workload& workload, const LoopPlan& plan,
                         const LoadHooks& hooks)
    : client_(client),
      style_(style),
      plan_(plan),
      hooks_(hooks),
      upcoming_(workload, style, plan.first, plan.sessions) {
  while (upcoming_.make_one()) {
  }
}

void SessionLoop::run() {
  const std::int64_t events_before = client_.events();
  began_ = client_.seconds(Clock::now());
  limit_ = plan_.seconds > 0.0 ? began_ + plan_.seconds : kNever;
  if (plan_.starts.empty()) {
    const auto users = static_cast<std::uint64_t>(std::max<std::int64_t>(plan_.users, 1));
    rested_.assign(std::min(users, plan_.sessions), began_);
  }
  progress_.warmup = plan_.warmup;
  progress_.records = &records_;
  while (true) {
    send_due();
    take_ended();
    progress_.events = client_.events() - events_before;
    call_hooks();
    if (stopped_) break;
    if (living_ == 0 && !may_begin(client_.seconds(Clock::now()))) break;
    make_ahead_or_wait();
    take_ended();
  }
  progress_.seconds = client_.seconds(Clock::now()) - began_;
  if (hooks_.progress) hooks_.progress(progress_);
}

double SessionLoop::next_begin() const {
  if (upcoming_.empty()) return kNever;
  if (plan_.starts.empty()) return rested_.empty() ? kNever : rested_.front();
  return begun_ < plan_.starts.size() ? began_ + plan_.starts[begun_] : kNever;
}

// Ever again, as far as one knows now.
bool SessionLoop::may_begin(double now) const { return now < limit_ && next_begin() < limit_; }

void SessionLoop::send_due() {
  while (true) {
    const double now = client_.seconds(Clock::now());
    if (!turns_.empty() && turns_.begin()->first <= std::min(now, next_begin())) {
      auto node = turns_.extract(turns_.begin());
      send(std::move(node.mapped()), node.key());
    } else if (!begin_next(now)) {
      if (turns_.empty() || turns_.begin()->first > now) return;
      auto node = turns_.extract(turns_.begin());  // a session may have to wait for others, their turns may not
      send(std::move(node.mapped()), node.key());
    }
  }
}

bool SessionLoop::begin_next(double now) {
  const double due = next_begin();
  if (due > now || !may_begin(now)) return false;
  if (plan_.users > 0 && living_ >= plan_.users) return false;
  if (plan_.starts.empty()) rested_.pop_front();
  auto live = std::make_unique<Live>();
  auto next = upcoming_.take();
  live->index = next.index;
  live->session = std::move(next.session);
  live->body = std::move(next.body);
  ++begun_;
  ++living_;
  progress_.total += static_cast<std::int64_t>(live->session.turns.size());
  send(std::move(live), due);
  return true;
}

std::int64_t SessionLoop::leave_after(const Live& live) const {
  const std::uint64_t numbers = 2 * live.turn, seed = plan_.seed ^ kDisconnect;
  if (rng::uniform(seed, live.index, numbers) >= plan_.disconnect_fraction) return 0;
  const double share = rng::uniform(seed, live.index, numbers + 1);
  return 1 +
         static_cast<std::int64_t>(share * static_cast<double>(std::max<std::int64_t>(live.now().output_tokens, 1)));
}

void SessionLoop::send(std::unique_ptr<Live> live, double due) {
  Outgoing request;
  request.record.index = plan_.first_record + progress_.sent++;
  request.record.session = static_cast<std::int64_t>(live->index);
  request.record.turn = static_cast<std::int64_t>(live->turn);
  request.record.warmup = plan_.warmup;
  request.record.due = due;
  request.record.model = live->now().model;
  request.record.asked_tokens = live->now().output_tokens;
  request.path = style_.path();
  request.body = std::move(live->body);
  request.timeout_s = plan_.request_timeout_s;
  request.leave_after = plan_.warmup ? 0 : leave_after(*live);
  request.keep_text = live->turn + 1 < live->session.turns.size() && live->now().ids.empty();
  in_flight_.emplace(request.record.index, std::move(live));
  client_.send(std::move(request));
}

void SessionLoop::take_ended() {
  for (RequestRecord& record : client_.take_ended()) {
    auto node = in_flight_.extract(record.index);
    ++progress_.ended;
    progress_.failed += failed(record) ? 1 : 0;
    go_on(std::move(node.mapped()), record);
    for (double* time : {&record.due, &record.sent, &record.first_byte, &record.ended}) *time -= began_;
    for (double& time : record.events) time -= began_;
    if (record.status == 0) record.first_byte = 0.0;
    records_.push_back(std::move(record));
  }
}

// The session's next turn, or its end.
void SessionLoop::go_on(std::unique_ptr<Live> live, const RequestRecord& record) {
  if (record.outcome != Outcome::kWhole || live->turn + 1 == live->session.turns.size()) {
    --living_;
    if (plan_.starts.empty()) rested_.push_back(record.ended + plan_.think_s);
    return;
  }
  live->before.push_back({std::move(live->session.turns[live->turn]), record.text});
  ++live->turn;
  live->body = request_body(style_, live->before, live->now());
  const double due = record.ended + live->now().pause_s;
  turns_.emplace(due, std::move(live));
}

void SessionLoop::make_ahead_or_wait() {
  const double now = client_.seconds(Clock::now());
  double next = turns_.empty() ? kNever : turns_.begin()->first;
  if (may_begin(now) && (plan_.users == 0 || living_ < plan_.users)) next = std::min(next, next_begin());
  double until = std::min(next, now + kStopCheck);
  if (next - now > kQuiet && upcoming_.make_one()) until = std::min(next, client_.seconds(Clock::now()) + kGlance);
  if (until > now) client_.poll(client_.at(until));
}

void SessionLoop::call_hooks() {
  const double now = client_.seconds(Clock::now());
  if (now >= next_stop_check_) {
    next_stop_check_ = now + kStopCheck;
    if (hooks_.stop && hooks_.stop()) {
      stopped_ = true;
      client_.stop();
      take_ended();
    }
  }
  if (now >= next_progress_ && hooks_.progress) {
    next_progress_ = now + kProgress;
    progress_.seconds = now - began_;
    progress_.in_flight = static_cast<std::int64_t>(client_.active());
    hooks_.progress(progress_);
  }
}

}  // namespace millrace::loadtest

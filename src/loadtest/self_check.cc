#include "loadtest/self_check.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "loadtest/arrivals.h"

namespace millrace::loadtest {
namespace {

// Request i names stream i.
class NumberedRequests final : public Workload {
 public:
  explicit NumberedRequests(std::int64_t tokens) : tokens_(tokens) {}
  Session session(std::uint64_t index) const override {
    return {.turns = {{.ids = {1}, .output_tokens = tokens_, .fields = fmt::format(R"("user":"{}")", index)}}};
  }

 private:
  const std::int64_t tokens_;
};

// Of all streams, from when each was due and when its events came, by one of the clocks.
class Times {
 public:
  void add(double due, std::span<const double> events) {
    if (events.empty()) return;
    ttft_.push_back(1e3 * (events.front() - due));
    latency_.push_back(1e3 * (events.back() - due));
    for (std::size_t i = 1; i < events.size(); ++i) itl_.push_back(1e3 * (events[i] - events[i - 1]));
    if (events.size() > 1) {
      tpot_.push_back(1e3 * (events.back() - events.front()) / static_cast<double>(events.size() - 1));
    }
    tokens_ += static_cast<double>(events.size());
    first_ = std::min(first_, due);
    last_ = std::max(last_, events.back());
  }
  std::vector<std::pair<std::string, double>> values() const {
    std::vector<std::pair<std::string, double>> out;
    for (const auto& [name, values] :
         {std::pair{"TTFT", &ttft_}, {"TPOT", &tpot_}, {"ITL", &itl_}, {"latency", &latency_}}) {
      const metrics::Distribution d = metrics::distribution_of(*values);
      out.emplace_back(fmt::format("mean {}", name), d.mean);
      out.emplace_back(fmt::format("median {}", name), d.p50);
      out.emplace_back(fmt::format("p99 {}", name), d.p99);
    }
    out.emplace_back("output throughput", last_ > first_ ? tokens_ / (last_ - first_) : 0.0);
    out.emplace_back("output tokens", tokens_);
    return out;
  }
  double throughput() const { return values()[12].second; }

 private:
  std::vector<double> ttft_, tpot_, itl_, latency_;
  double tokens_ = 0.0, first_ = 1e300, last_ = -1e300;
};

}  // namespace

double CheckedMetric::error_percent() const noexcept {
  if (server == client) return 0.0;
  return server == 0.0 ? 100.0 : 100.0 * std::abs(client / server - 1.0);
}

SelfCheck check_against(const LoadRun& run, std::span<const PacedStream> truth) {
  SelfCheck check;
  Times scripted, server, client;
  std::vector<double> lag, delay, late;
  for (std::size_t i = 0; i < std::min(run.records.size(), truth.size()); ++i) {
    const RequestRecord& record = run.records[i];
    const PacedStream& stream = truth[i];
    ++check.streams;
    check.whole += record.good() ? 1 : 0;
    check.events += static_cast<std::int64_t>(record.events.size());
    lag.push_back(1e3 * (record.sent - record.due));
    client.add(record.due, record.events);
    server.add(record.due, stream.written);
    std::vector<double> planned;
    for (const double at : stream.scripted) planned.push_back(stream.due + at);
    scripted.add(stream.due, planned);
    for (std::size_t k = 0; k < std::min(record.events.size(), stream.written.size()); ++k) {
      delay.push_back(1e3 * (record.events[k] - stream.written[k]));
    }
    for (std::size_t k = 0; k < std::min(stream.scripted.size(), stream.written.size()); ++k) {
      late.push_back(1e3 * (stream.written[k] - stream.arrived - stream.scripted[k]));
    }
  }
  const auto planned = scripted.values(), done = server.values(), seen = client.values();
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const std::string unit = i < 12 ? "ms" : i == 12 ? "1/s" : "";
    check.compared.push_back({seen[i].first, unit, planned[i].second, done[i].second, seen[i].second});
    check.worst_percent = std::max(check.worst_percent, check.compared.back().error_percent());
  }
  check.events_s = client.throughput();
  check.send_lag_ms = metrics::distribution_of(lag);
  check.client_delay_ms = metrics::distribution_of(delay);
  check.server_late_ms = metrics::distribution_of(late);
  check.client_cpu_share = run.seconds > 0.0 ? run.client_cpu_s / run.seconds : 0.0;
  return check;
}

SelfCheck self_check(const Pace& pace, double ramp_s, const LoadHooks& hooks) {
  const MockServer server(pace);
  const Target target = parse_target("url", server.url()).or_throw();
  LoadPlan plan{.sessions = pace.streams};
  plan.starts = schedule({.rate = static_cast<double>(pace.streams) / ramp_s, .seed = pace.seed}, pace.streams);
  const LoadRun run = run_load(target, {}, NumberedRequests(pace.events), plan, hooks);
  std::vector<PacedStream> truth;
  for (const RequestRecord& record : run.records) {
    const auto seconds = [&](TimePoint at) { return std::chrono::duration<double>(at - run.started).count(); };
    PacedStream& stream = truth.emplace_back();
    stream.due = record.due;
    stream.arrived = seconds(server.arrived(record.session));
    stream.scripted = script_of(pace, record.session);
    for (std::int64_t k = 0; k < pace.events && server.written(record.session, k) != TimePoint{}; ++k) {
      stream.written.push_back(seconds(server.written(record.session, k)));
    }
  }
  return check_against(run, truth);
}

}  // namespace millrace::loadtest

#include "bench/load/live_line.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <vector>

#include "metrics/statistics.h"

namespace millrace::bench {
namespace {

constexpr std::chrono::seconds kQuietInterval{5};
constexpr std::size_t kRecent = 200;  // requests whose times are shown

volatile std::sig_atomic_t interrupts = 0;

void interrupt(int) {
  interrupts = interrupts + 1;
  std::signal(SIGINT, SIG_DFL);
}

// Of the requests that ended last.
std::string times_of(const std::vector<loadtest::RequestRecord>& records) {
  std::vector<double> ttft, tpot;
  for (auto it = records.rbegin(); it != records.rend() && ttft.size() < kRecent; ++it) {
    if (!it->good()) continue;
    ttft.push_back(it->ttft() * 1e3);
    tpot.push_back(it->tpot() * 1e3);
  }
  if (ttft.empty()) return "";
  return fmt::format("  TTFT {:.0f}/{:.0f} ms  TPOT {:.1f}/{:.1f} ms (p50/p99)", metrics::quantile(ttft, 0.5),
                     metrics::quantile(ttft, 0.99), metrics::quantile(tpot, 0.5), metrics::quantile(tpot, 0.99));
}

}  // namespace

LiveLine::LiveLine(std::string label) : label_(std::move(label)), terminal_(::isatty(STDERR_FILENO) == 1) {
  std::signal(SIGINT, interrupt);
}

LiveLine::~LiveLine() {
  if (drawn_) std::fputc('\n', stderr);
  if (!interrupted()) std::signal(SIGINT, SIG_DFL);
}

void LiveLine::name(std::string label) {
  if (!label_.empty()) label_ = std::move(label);
}

bool LiveLine::interrupted() noexcept { return interrupts > 0; }

loadtest::LoadHooks LiveLine::hooks() {
  return {.stop = interrupted, .progress = [this](const loadtest::Progress& progress) { show(progress); }};
}

void LiveLine::show(const loadtest::Progress& p) {
  const TimePoint now = Clock::now();
  if (label_.empty() || (!terminal_ && now - last_ < kQuietInterval)) return;
  const double seconds = p.seconds - last_seconds_;
  const double rate = seconds > 0.0 ? static_cast<double>(p.events - last_events_) / seconds : 0.0;
  last_ = now;
  last_seconds_ = p.seconds;
  last_events_ = p.events;
  const std::string line = fmt::format("{}{} {:.0f} s  {}/{} done  {} in flight{}  {:.0f} tok/s{}", label_,
                                       p.warmup ? " (warm-up)" : "", p.seconds, p.ended, p.total, p.in_flight,
                                       p.failed > 0 ? fmt::format("  {} failed", p.failed) : std::string(),
                                       std::max(0.0, rate), p.records != nullptr ? times_of(*p.records) : "");
  fmt::print(stderr, "{}{}{}", terminal_ ? "\r\033[K" : "", line, terminal_ ? "" : "\n");
  std::fflush(stderr);
  drawn_ = terminal_;
}

}  // namespace millrace::bench

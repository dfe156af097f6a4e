#include "loadtest/watch/server_watch.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "loadtest/testing/scripted_server.h"

namespace millrace::loadtest {
namespace {

using namespace std::chrono_literals;

// Answers the n-th GET /metrics, n from 1, with what the test says; "" = status 500, "-" = status 404.
class Metrics {
 public:
  explicit Metrics(std::function<std::string(int)> text)
      : text_(std::move(text)), server_(ScriptedServer::each([this](Peer& peer, const std::string& request) {
          EXPECT_TRUE(request.starts_with("GET /metrics ")) << request;
          const std::lock_guard lock(mutex_);
          const std::string body = text_(++asked_);
          const char* status = body.empty() ? "500 Out" : body == "-" ? "404 Not Found" : "200 OK";
          peer.write(fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n\r\n{}", status, body.size(), body));
          answered_.notify_all();
        })) {}

  Target target() const { return parse_target("url", server_.url()).or_throw(); }
  void wait_until_asked(int times) {
    std::unique_lock lock(mutex_);
    answered_.wait(lock, [&] { return asked_ >= times; });
  }
  int asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  const std::function<std::string(int)> text_;
  std::mutex mutex_;
  std::condition_variable answered_;
  int asked_ = 0;
  ScriptedServer server_;
};

struct Watched {
  report::ServerFacts facts;
  report::ServerSamples samples;
  std::vector<pid_t> processes;
  int asked = 0;

  std::map<std::string, double> counters() const { return {facts.counters.begin(), facts.counters.end()}; }
};

// Watches until /metrics was asked for `times` times or more. The first reading is the run's: where the run began
// later, another reading might already lie between.
Watched watched(std::function<std::string(int)> text, int times, pid_t process = 0, const ServedModel& model = {},
                double read_gb_s = 0.0) {
  Metrics metrics(std::move(text));
  const TimePoint started = Clock::now();
  ServerWatch watch(metrics.target(), process, 1ms);
  metrics.wait_until_asked(times);
  auto [facts, samples] = watch.finish(started, model, read_gb_s);
  return {std::move(facts), std::move(samples), watch.processes(), metrics.asked()};
}

bool all_unknown(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double v) { return std::isnan(v); });
}

// Two models, counters that rise by 100 and 10 a reading.
std::string millrace_metrics(int n) {
  return fmt::format(
      "# HELP vllm:num_requests_running x\n"
      "vllm:num_requests_running{{model_name=\"a\"}} {0}\n"
      "vllm:num_requests_running{{model_name=\"b\"}} 1000\n"
      "vllm:num_requests_waiting 7\n"
      "vllm:kv_cache_usage_perc 0.25\n"
      "vllm:prompt_tokens_total{{model_name=\"a\"}} {1}\n"
      "vllm:prompt_tokens_total{{model_name=\"b\"}} 5\n"
      "vllm:generation_tokens_total {2}\n"
      "vllm:num_preemptions_total 3\n"
      "vllm:spec_decode_num_drafts_total {5}\n"
      "vllm:spec_decode_num_draft_tokens_total {6}\n"
      "vllm:spec_decode_num_accepted_tokens_total {7}\n"
      "vllm:prefix_cache_hits_total {8}\n"
      "millrace:recomputed_tokens_total {9}\n"
      "vllm:estimated_read_bytes_per_gpu_total {3}e9\n"
      "millrace:step_phase_seconds_sum{{phase=\"forward\"}} {4}\n"
      "millrace:step_phase_seconds_sum{{phase=\"commit\"}} {4}\n"
      "millrace:memory_bandwidth_utilization 0.5\n"
      "millrace:compute_utilization 0.125\n"
      "vllm:cache_config_info{{block_size=\"16\",num_gpu_blocks=\"10\"}} 1\n"
      "vllm:cache_config_info{{block_size=\"32\",num_gpu_blocks=\"2\"}} 1\n",
      n, 100 * n, 10 * n, 2 * n, n, 11 * n, 12 * n, 13 * n, 14 * n, 15 * n);
}

std::string replaced(std::string text, std::string_view what, std::string_view with) {
  text.replace(text.find(what), what.size(), with);
  return text;
}

TEST(ServerWatch, AddsUpWhatTheRunDidBetweenTheFirstReadingAndTheLast) {
  const Watched w = watched(millrace_metrics, 4);
  const double readings = w.asked - 1;
  const std::map<std::string, double> expected = {
      {"prompt_tokens", 100 * readings}, {"generation_tokens", 10 * readings}, {"preemptions", 0.0},
      {"drafts", 11 * readings},         {"draft_tokens", 12 * readings},      {"accepted_tokens", 13 * readings},
      {"cached_tokens", 14 * readings},  {"recomputed_tokens", 15 * readings}};
  EXPECT_EQ(w.counters(), expected);
  EXPECT_EQ(w.facts.kv_capacity_tokens, 160.0 + 64.0);
  EXPECT_EQ(w.facts.mfu_percent, 12.5);
  EXPECT_EQ(w.facts.mbu_percent, 50.0) << "the server's own, where nobody measured";
  EXPECT_FALSE(w.facts.read_gb_s || w.facts.cpu_seconds || w.facts.resident_peak_bytes || w.facts.model_bytes);
}

TEST(ServerWatch, MoreThanTheLimitIsNotKnown) {
  for (const char* value : {"1.54", "NaN"}) {
    const Watched w = watched(
        [&](int n) { return replaced(millrace_metrics(n), "utilization 0.125", fmt::format("utilization {}", value)); },
        4);
    EXPECT_FALSE(w.facts.mfu_percent) << value;
    EXPECT_TRUE(w.facts.limit_exceeded) << value;
    EXPECT_EQ(w.facts.mbu_percent, 50.0);
  }
  EXPECT_FALSE(watched(millrace_metrics, 4).facts.limit_exceeded);
}

TEST(ServerWatch, ItsSamplesAreOnTheRunsClock) {
  const Watched w = watched(millrace_metrics, 4);
  const report::ServerSamples& s = w.samples;
  ASSERT_EQ(s.t.size(), static_cast<std::size_t>(w.asked - 1))
      << "the first reading is what the second is held against";
  for (const auto* list : {&s.running, &s.waiting, &s.kv_used, &s.prefill_tok_s, &s.decode_tok_s, &s.mbu_percent}) {
    ASSERT_EQ(list->size(), s.t.size());
  }
  for (std::size_t i = 0; i < s.t.size(); ++i) {
    EXPECT_GT(s.t[i], i == 0 ? 0.0 : s.t[i - 1]);
    EXPECT_EQ(s.running[i], 1002.0 + static_cast<double>(i));
    EXPECT_EQ(s.waiting[i], 7.0);
    EXPECT_EQ(s.kv_used[i], 0.25);
    EXPECT_EQ(s.mbu_percent[i], 50.0);
    EXPECT_TRUE(std::isnan(s.resident_bytes[i]));
    if (i == 0) continue;
    const double seconds = s.t[i] - s.t[i - 1];
    EXPECT_NEAR(s.prefill_tok_s[i] * seconds, 100.0, 1e-3);
    EXPECT_NEAR(s.decode_tok_s[i] * seconds, 10.0, 1e-4);
  }
}

TEST(ServerWatch, WhatCameBeforeTheRunIsNoneOfIt) {
  Metrics metrics(millrace_metrics);
  ServerWatch watch(metrics.target(), 0, 1ms);
  metrics.wait_until_asked(3);
  const TimePoint started = Clock::now();
  const int before = metrics.asked();  // one more may be on its way
  metrics.wait_until_asked(before + 3);
  const auto [facts, samples] = watch.finish(started, {}, 0.0);
  const double counted = Watched{facts, samples, {}, 0}.counters().at("prompt_tokens") / 100;
  EXPECT_LE(counted, metrics.asked() - before + 1);
  EXPECT_EQ(static_cast<double>(samples.t.size()), counted);
  EXPECT_GE(samples.t.front(), 0.0);
}

TEST(ServerWatch, MeasuredBandwidthIsWhatItsReadsAreDividedBy) {
  const ServedModel model{.id = "a", .weight_bytes = 77, .kv_bytes_per_token = 5};
  const Watched w = watched(millrace_metrics, 3, 0, model, 4.0);
  EXPECT_EQ(w.facts.read_gb_s, 4.0);
  EXPECT_NEAR(w.facts.mbu_percent.value(), 25.0, 1e-9) << "2 GB in 2 s of steps of what gives 4 GB/s";
  EXPECT_EQ(w.facts.model_bytes, 77.0);
  EXPECT_EQ(w.facts.kv_bytes_per_token, 5.0);
  const report::ServerSamples s = watched(millrace_metrics, 3, 0, model, 4e6).samples;
  for (std::size_t i = 1; i < s.t.size(); ++i) {
    EXPECT_NEAR(s.mbu_percent[i] * (s.t[i] - s.t[i - 1]), 100.0 * 2.0 / 4e6, 1e-9);
  }
}

TEST(ServerWatch, ALimitThatIsExceededIsNone) {
  const ServedModel model{.id = "a", .weight_bytes = 77, .kv_bytes_per_token = 5};
  const Watched w = watched(millrace_metrics, 3, 0, model, 0.5);
  EXPECT_FALSE(w.facts.mbu_percent);
  EXPECT_TRUE(w.facts.limit_exceeded);
  const report::ServerSamples& s = w.samples;
  for (std::size_t i = 1; i < s.t.size(); ++i) {
    EXPECT_TRUE(std::isnan(s.mbu_percent[i]) || s.t[i] - s.t[i - 1] >= 4.0) << s.mbu_percent[i];
  }
}

TEST(ServerWatch, WhatAServerDoesNotSayIsUnknownAndNotZero) {
  const Watched w = watched([](int n) { return fmt::format("vllm:num_requests_running {}\n", n); }, 3, 0, {}, 4.0);
  ASSERT_FALSE(w.samples.t.empty());
  EXPECT_EQ(w.samples.running[0], 2.0);
  for (const auto* list : {&w.samples.waiting, &w.samples.kv_used, &w.samples.prefill_tok_s, &w.samples.decode_tok_s,
                           &w.samples.mbu_percent, &w.samples.resident_bytes}) {
    EXPECT_EQ(list->size(), w.samples.t.size());
    EXPECT_TRUE(all_unknown(*list));
  }
  EXPECT_TRUE(w.facts.counters.empty());
  EXPECT_FALSE(w.facts.mbu_percent || w.facts.mfu_percent || w.facts.kv_capacity_tokens || w.facts.read_gb_s);
}

TEST(ServerWatch, AShareOfZeroWhileStepsRanIsALimitThatTheServerDoesNotKnow) {
  const Watched w = watched(
      [](int n) {
        return fmt::format(
            "millrace:step_phase_seconds_sum {}\nmillrace:compute_utilization 0\n"
            "millrace:memory_bandwidth_utilization 0\n",
            n);
      },
      3);
  EXPECT_FALSE(w.facts.mbu_percent || w.facts.mfu_percent);
}

TEST(ServerWatch, ACounterThatComesWithItsFirstEventBeginsAtZero) {
  const Watched w =
      watched([](int n) { return n == 1 ? "vllm:num_requests_running 1\n" : "vllm:num_preemptions_total 4\n"; }, 3);
  EXPECT_EQ(w.counters(), (std::map<std::string, double>{{"preemptions", 4.0}}));
}

TEST(ServerWatch, AServerThatBeganAnewDidNotDoLessThanNothing) {
  const Watched w = watched([](int n) { return fmt::format("vllm:prompt_tokens_total {}\n", 1000 - n); }, 3);
  EXPECT_EQ(w.counters().at("prompt_tokens"), 0.0);
  EXPECT_TRUE(std::ranges::all_of(w.samples.prefill_tok_s, [](double v) { return v == 0.0; }));
}

TEST(ServerWatch, WithoutMetricsItsProcessIsWatchedAndMetricsAreAskedForOnce) {
  Metrics metrics([](int) { return "-"; });
  ServerWatch watch(metrics.target(), ::getpid(), 1ms);
  const TimePoint started = Clock::now();
  const auto [facts, samples] = watch.finish(started, {}, 4.0);
  EXPECT_EQ(metrics.asked(), 1);
  EXPECT_TRUE(std::ranges::find(watch.processes(), ::getpid()) != watch.processes().end());
  EXPECT_GT(facts.resident_peak_bytes.value(), 1e5);
  EXPECT_GE(facts.cpu_seconds.value(), 0.0);
  EXPECT_TRUE(facts.counters.empty());
  EXPECT_FALSE(facts.mbu_percent || facts.mfu_percent);
  ASSERT_FALSE(samples.t.empty());
  EXPECT_GT(samples.resident_bytes.back(), 1e5);
  EXPECT_TRUE(all_unknown(samples.running) && all_unknown(samples.decode_tok_s) && all_unknown(samples.mbu_percent));
}

TEST(ServerWatch, OfAServerThatSaysNothingThereAreNoSamples) {
  for (const char* nothing : {"-", "", "this is {no text format\n"}) {
    const Watched w = watched([&](int) { return nothing; }, 1);
    EXPECT_TRUE(w.samples.t.empty()) << nothing;
    EXPECT_TRUE(w.facts.counters.empty());
    EXPECT_FALSE(w.facts.kv_capacity_tokens || w.facts.mbu_percent);
  }
}

TEST(ServerWatch, AServerWhoseMetricsEndHalfWayKeepsWhatItSaidUntilThen) {
  const Watched w = watched([](int n) { return n <= 3 ? millrace_metrics(n) : ""; }, 6, ::getpid());
  ASSERT_EQ(w.samples.t.size(), static_cast<std::size_t>(w.asked - 1)) << "asked for on and on: it may come back";
  EXPECT_EQ(w.samples.running[0], 1002.0);
  EXPECT_EQ(w.samples.running[1], 1003.0);
  for (std::size_t i = 2; i < w.samples.t.size(); ++i) {
    EXPECT_TRUE(std::isnan(w.samples.running[i]) && std::isnan(w.samples.prefill_tok_s[i]));
    EXPECT_GT(w.samples.resident_bytes[i], 0.0);
  }
  EXPECT_TRUE(w.facts.counters.empty()) << "what it did until its end nobody knows";
  EXPECT_FALSE(w.facts.mbu_percent || w.facts.mfu_percent);
  EXPECT_EQ(w.facts.kv_capacity_tokens, 224.0);
}

TEST(ServerWatch, AfterAGapTheRateIsTheMeanSinceItBegan) {
  const Watched w = watched([](int n) { return n == 3 ? "" : millrace_metrics(n); }, 6);
  const report::ServerSamples& s = w.samples;  // s[0] is of the second reading
  EXPECT_TRUE(std::isnan(s.prefill_tok_s[1]) && std::isnan(s.running[1]));
  EXPECT_NEAR(s.prefill_tok_s[2] * (s.t[2] - s.t[0]), 200.0, 1e-3);
  EXPECT_EQ(w.counters().at("prompt_tokens"), 100.0 * (w.asked - 1));
}

TEST(ServerWatch, EndsWithoutBeingAskedWhatItSaw) {
  Metrics metrics(millrace_metrics);
  {
    const ServerWatch watch(metrics.target(), 0);
  }
  EXPECT_EQ(metrics.asked(), 1);
}

}  // namespace
}  // namespace millrace::loadtest

#include "loadtest/run_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "loadtest/itl_heat.h"
#include "loadtest/session_sample.h"
#include "loadtest/time_slices.h"

namespace millrace::loadtest {
namespace {

RequestRecord answered(double due, std::vector<double> events) {
  RequestRecord record;
  record.due = record.sent = due;
  record.events = std::move(events);
  record.first_byte = record.events.front();
  record.ended = record.events.back();
  record.prompt_tokens = 10;
  record.outcome = Outcome::kWhole;
  record.status = 200;
  return record;
}

LoadRun run_of(std::vector<RequestRecord> records, double seconds) {
  LoadRun run;
  run.records = std::move(records);
  run.seconds = seconds;
  for (std::size_t i = 0; i < run.records.size(); ++i) {
    run.records[i].index = static_cast<std::int64_t>(i);
    run.records[i].session = static_cast<std::int64_t>(i);
  }
  return run;
}

TEST(RunMetrics, AreWhatTheTimesSay) {
  LoadRun run = run_of({answered(0.0, {0.1, 0.2, 0.4}), answered(1.0, {1.3, 1.4, 1.5})}, 2.0);
  run.records[1].sent = 1.05;
  run.records[1].cached_tokens = 4;
  const RunMetrics metrics = metrics_of(run, {});
  EXPECT_EQ(metrics.completed, 2);
  EXPECT_EQ(metrics.failed, 0);
  EXPECT_EQ(metrics.input_tokens, 20);
  EXPECT_EQ(metrics.output_tokens, 6);
  EXPECT_EQ(metrics.cached_tokens, 4);
  EXPECT_NEAR(metrics.ttft.mean, 200.0, 1e-9);
  EXPECT_NEAR(metrics.ttft.median, 200.0, 1e-9);
  EXPECT_NEAR(metrics.ttft.deviation, 100.0, 1e-9);
  EXPECT_NEAR(metrics.ttft.p90, 280.0, 1e-9);
  EXPECT_NEAR(metrics.ttft.p99, 298.0, 1e-9);
  EXPECT_NEAR(metrics.tpot.mean, 125.0, 1e-9);
  EXPECT_NEAR(metrics.itl.median, 100.0, 1e-9);
  EXPECT_NEAR(metrics.itl.mean, 125.0, 1e-9);
  EXPECT_NEAR(metrics.latency.median, 450.0, 1e-9);
  EXPECT_NEAR(metrics.find("request_throughput")->value, 1.0, 1e-9);
  EXPECT_NEAR(metrics.find("output_throughput")->value, 3.0, 1e-9);
  EXPECT_NEAR(metrics.find("total_token_throughput")->value, 13.0, 1e-9);
  EXPECT_NEAR(metrics.send_lag.max, 50.0, 1e-9);
  EXPECT_NEAR(metrics.send_lag.mean, 25.0, 1e-9);
  EXPECT_EQ(metrics.find("nonsense"), nullptr);
}

TEST(RunMetrics, TokensOfTheReplyAreCountedRatherThanItsEvents) {
  LoadRun run = run_of({answered(0.0, {0.1, 0.2, 0.4})}, 1.0);
  run.records[0].completion_tokens = 7;
  const RunMetrics metrics = metrics_of(run, {});
  EXPECT_EQ(metrics.output_tokens, 7);
  EXPECT_NEAR(metrics.tpot.mean, 50.0, 1e-9);
  EXPECT_NEAR(metrics.itl.mean, 150.0, 1e-9);
  EXPECT_NEAR(metrics.find("output_throughput")->value, 7.0, 1e-9);
}

TEST(RunMetrics, WarmUpAndWhatWeLeftCountForNothingAndFailuresAlone) {
  std::vector<RequestRecord> records(5, answered(0.0, {0.1, 0.2}));
  records[0].warmup = true;
  records[1].outcome = Outcome::kDisconnected;
  records[2].outcome = Outcome::kStopped;
  records[3].outcome = Outcome::kRejected;
  records[3].events.clear();
  const Slo any;
  const RunMetrics metrics = metrics_of(run_of(std::move(records), 1.0), std::span(&any, 1));
  EXPECT_EQ(metrics.completed, 1);
  EXPECT_EQ(metrics.failed, 1);
  EXPECT_EQ(metrics.output_tokens, 2);
  EXPECT_NEAR(metrics.goodput[0].share.value, 0.5, 1e-9);
  EXPECT_NEAR(metrics.goodput[0].requests_s, 1.0, 1e-9);
  EXPECT_NEAR(metrics.goodput[0].tokens_s, 2.0, 1e-9);
}

TEST(RunMetrics, AnSloIsMetByWholeAnswersAlone) {
  RequestRecord record = answered(1.0, {1.5, 1.6, 1.7});  // ttft 500 ms, tpot 100 ms, latency 700 ms
  EXPECT_TRUE(met({.ttft_ms = 501, .tpot_ms = 101, .latency_ms = 701}, record));
  EXPECT_FALSE(met({.ttft_ms = 499}, record));
  EXPECT_FALSE(met({.tpot_ms = 99}, record));
  EXPECT_FALSE(met({.latency_ms = 699}, record));
  record.outcome = Outcome::kCut;
  EXPECT_FALSE(met({}, record));
  record.outcome = Outcome::kWhole;
  record.events.clear();
  EXPECT_FALSE(met({}, record));
}

TEST(RunMetrics, OneTokenHasNoTimePerToken) {
  const RunMetrics metrics = metrics_of(run_of({answered(0.0, {0.1}), answered(0.0, {0.1, 0.2})}, 1.0), {});
  EXPECT_NEAR(metrics.tpot.mean, 100.0, 1e-9);
  const RunMetrics single = metrics_of(run_of({answered(0.0, {0.1})}, 1.0), {});
  EXPECT_EQ(single.find("median_tpot_ms"), nullptr);
  EXPECT_EQ(single.find("median_itl_ms"), nullptr);
  EXPECT_NE(single.find("median_e2el_ms"), nullptr);
}

TEST(RunMetrics, NothingSentIsZero) {
  const RunMetrics metrics = metrics_of(LoadRun{}, {});
  EXPECT_EQ(metrics.completed, 0);
  EXPECT_TRUE(metrics.estimates.empty());
  EXPECT_EQ(metrics.max_at_once, 0);
}

TEST(RunMetrics, MostAtOnceCountsWhatIsSentAndNotEnded) {
  std::vector<RequestRecord> records = {answered(0.0, {1.0}), answered(0.5, {2.0}), answered(1.0, {3.0}),
                                        answered(0.0, {5.0})};
  records[3].sent = 3.0;  // waited in the client until the others had ended
  EXPECT_EQ(metrics_of(run_of(std::move(records), 5.0), {}).max_at_once, 2);
}

TEST(RunMetrics, AreTheSameForTheSameRecords) {
  std::mt19937_64 random(1);
  std::vector<RequestRecord> records;
  for (int i = 0; i < 50; ++i) {
    const double due = 0.1 * i, ttft = std::exponential_distribution<double>(5.0)(random);
    records.push_back(answered(due, {due + ttft, due + ttft + 0.01}));
  }
  const LoadRun run = run_of(std::move(records), 6.0);
  const RunMetrics one = metrics_of(run, {}), two = metrics_of(run, {});
  ASSERT_EQ(one.estimates.size(), 11u);
  for (std::size_t i = 0; i < one.estimates.size(); ++i) {
    EXPECT_EQ(one.estimates[i].second.low, two.estimates[i].second.low) << one.estimates[i].first;
    EXPECT_EQ(one.estimates[i].second.high, two.estimates[i].second.high) << one.estimates[i].first;
    EXPECT_LE(one.estimates[i].second.low, one.estimates[i].second.value + 1e-9);
    EXPECT_GE(one.estimates[i].second.high, one.estimates[i].second.value - 1e-9);
  }
}

TEST(SessionSample, DrawnQuantilesAreThoseOfTheValuesAsOftenAsTheirSessionWasDrawn) {
  std::mt19937_64 random(7);
  SessionSample sample(6);
  std::vector<std::pair<std::size_t, double>> all;
  for (int i = 0; i < 40; ++i) {
    const std::size_t session = random() % 5;  // the sixth has none
    const double value = static_cast<double>(random() % 30);
    sample.add(session, value);
    all.emplace_back(session, value);
  }
  sample.sort();
  const std::vector<double> qs = {0.0, 0.5, 0.5, 0.99, 1.0};
  int empty = 0;
  draw_with_replacement(6, 200, 1, [&](std::span<const int> times) {
    std::vector<double> values, out(qs.size());
    for (const auto& [session, value] : all)
      values.insert(values.end(), static_cast<std::size_t>(times[session]), value);
    if (!sample.drawn_quantiles(times, qs, out)) {
      EXPECT_TRUE(values.empty());
      ++empty;
      return;
    }
    for (std::size_t i = 0; i < qs.size(); ++i) EXPECT_DOUBLE_EQ(out[i], metrics::quantile(values, qs[i]));
  });
  const std::vector<int> last_alone = {0, 0, 0, 0, 0, 6};
  std::vector<double> out(qs.size());
  EXPECT_FALSE(sample.drawn_quantiles(last_alone, qs, out));
}

// Sessions that differ from each other, each with a few values of its own spread: the share of 400 data sets whose
// interval holds the median of the whole population, 0.
double coverage_over_sessions(std::size_t sessions, int values, bool as_if_independent, bool woodruff) {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    SessionSample sample(as_if_independent ? sessions * static_cast<std::size_t>(values) : sessions);
    std::size_t unit = 0;
    for (std::size_t s = 0; s < sessions; ++s) {
      const double own = normal(random);
      for (int i = 0; i < values; ++i) sample.add(as_if_independent ? unit++ : s, own + 0.5 * normal(random));
    }
    sample.sort();
    Estimate estimate = sample.woodruff(0.5);
    if (!woodruff) {
      std::vector<double> drawn;
      const double half = 0.5;
      draw_with_replacement(static_cast<std::int64_t>(sessions), 300, seed, [&](std::span<const int> times) {
        double median = 0.0;
        if (sample.drawn_quantiles(times, std::span(&half, 1), std::span(&median, 1))) drawn.push_back(median);
      });
      estimate = percentile_interval(sample.quantile(0.5), drawn, static_cast<std::int64_t>(sessions));
    }
    held += estimate.low <= 0.0 && 0.0 <= estimate.high ? 1 : 0;
  }
  return held / 400.0;
}

TEST(SessionSample, IntervalsOverSessionsHoldTheTruthAndThoseOverTheirRequestsDoNot) {
  EXPECT_GE(coverage_over_sessions(40, 10, false, true), 0.90);
  EXPECT_LE(coverage_over_sessions(40, 10, false, true), 0.98);
  EXPECT_GE(coverage_over_sessions(40, 10, false, false), 0.90);
  EXPECT_LE(coverage_over_sessions(40, 10, false, false), 0.98);
  EXPECT_LT(coverage_over_sessions(40, 10, true, true), 0.75);
}

TEST(TimeSlices, IntervalHoldsTheRateThoughTheServerIsFasterAtTimes) {
  int held = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    TimeSlices slices(5.0, 100.0, 1.0);
    // The speed changes every second about a mean of 10, and requests come at random.
    for (int second = 0; second < 100; ++second) {
      const double speed = 10.0 * std::uniform_real_distribution<double>(0.5, 1.5)(random);
      const int requests = std::poisson_distribution<int>(speed)(random);
      for (int i = 0; i < requests; ++i) slices.add(5.0 + second + 0.5, 1.0);
    }
    const Estimate rate = slices.rate();
    held += rate.low <= 10.0 && 10.0 <= rate.high ? 1 : 0;
  }
  EXPECT_GE(held / 400.0, 0.90);
  EXPECT_LE(held / 400.0, 0.98);
}

TEST(TimeSlices, NothingIsLostAtTheEnds) {
  TimeSlices slices(1.0, 2.0, 0.0);
  slices.add(0.0, 1.0);
  slices.add(3.0, 2.0);
  slices.add(9.0, 3.0);
  EXPECT_DOUBLE_EQ(slices.rate().value, 3.0);
}

TEST(ItlHeat, CountsEveryGapOnceWhereItCame) {
  std::vector<RequestRecord> records;
  for (int i = 0; i < 100; ++i) {
    std::vector<double> events = {0.1 * i};
    for (int gap = 0; gap < 9; ++gap) events.push_back(events.back() + (i < 50 ? 0.01 : 0.1));
    records.push_back(answered(0.1 * i, std::move(events)));
  }
  records.push_back(answered(0.0, {1.0, 1.0}));  // two events of one read
  const ItlHeat heat = itl_heat(run_of(std::move(records), 11.0));
  ASSERT_EQ(heat.counts.size(), 30u);
  ASSERT_EQ(heat.ms.size(), 31u);
  ASSERT_EQ(heat.t.size(), heat.counts[0].size() + 1);
  EXPECT_LE(heat.t.size(), 121u);
  EXPECT_NEAR(heat.ms.back(), 100.0, 1e-6);
  std::int64_t all = 0, slow_early = 0;
  for (std::size_t r = 0; r < 30; ++r) {
    for (std::size_t c = 0; c + 1 < heat.t.size(); ++c) {
      all += heat.counts[r][c];
      if (heat.ms[r] > 50.0 && heat.t[c + 1] < 4.9) slow_early += heat.counts[r][c];
    }
  }
  EXPECT_EQ(all, 901);
  EXPECT_EQ(slow_early, 0);
  EXPECT_EQ(std::accumulate(heat.counts[0].begin(), heat.counts[0].end(), std::int64_t{0}), 1);
  EXPECT_TRUE(itl_heat(LoadRun{}).counts.empty());
}

}  // namespace
}  // namespace millrace::loadtest

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "loadtest/report/csv.h"
#include "loadtest/report/markdown.h"
#include "loadtest/report/number_text.h"
#include "loadtest/report/serve_json.h"
#include "loadtest/report/summary_text.h"

namespace millrace::loadtest::report {
namespace {

// Two good requests (ttft 100 and 300 ms), one rejected, one of warm-up.
LoadRun small_run() {
  LoadRun run;
  run.seconds = 2.0;
  run.client_cpu_s = 0.5;
  for (int i = 0; i < 4; ++i) {
    RequestRecord record;
    record.index = record.session = i;
    record.due = record.sent = i == 0 ? -1.0 : i - 1.0;
    record.outcome = i == 3 ? Outcome::kRejected : Outcome::kWhole;
    record.status = i == 3 ? 429 : 200;
    if (i == 3) {
      record.error = "busy, \"later\"";
    } else {
      record.events = {record.due + (i == 1 ? 0.1 : 0.3), record.due + 0.5, record.due + 0.7};
      record.prompt_tokens = 8;
      record.first_byte = record.events.front();
      record.id = "r" + std::to_string(i);
      record.finish_reason = "length";
    }
    record.ended = record.due + 0.75;
    record.warmup = i == 0;
    run.records.push_back(std::move(record));
  }
  return run;
}

Json small_report() {
  const LoadRun run = small_run();
  const std::vector<Slo> slos = {{.ttft_ms = 200}, {}};
  const RunMetrics metrics = metrics_of(run, slos);
  const LoadFacts load{
      .model = "tiny", .request_rate = 1.0, .url = "http://h:1", .workload = "random", .arrivals = "poisson"};
  const RequestPhases phases = {{1, {{RequestPhase::Kind::kPrefill, 0.01, 0.09, 8}}}};
  Json report = serve_json({.run = &run, .metrics = &metrics, .load = &load, .slos = slos, .phases = &phases});
  report["schema"] = "millrace.bench.serve";
  return report;
}

TEST(ServeJson, HasTheKeysThatPlotScriptsOfVllmRead) {
  const Json report = small_report();
  for (const char* key : {"backend",
                          "label",
                          "model_id",
                          "tokenizer_id",
                          "num_prompts",
                          "request_rate",
                          "burstiness",
                          "max_concurrency",
                          "duration",
                          "completed",
                          "failed",
                          "total_input_tokens",
                          "total_output_tokens",
                          "request_throughput",
                          "request_goodput",
                          "output_throughput",
                          "total_token_throughput",
                          "max_concurrent_requests",
                          "mean_ttft_ms",
                          "median_tpot_ms",
                          "std_itl_ms",
                          "p99_e2el_ms",
                          "p95_ttft_ms",
                          "input_lens",
                          "output_lens",
                          "ttfts",
                          "itls",
                          "start_times",
                          "errors"}) {
    EXPECT_TRUE(report.contains(key)) << key;
  }
  EXPECT_EQ(report["num_prompts"], 3);
  EXPECT_EQ(report["completed"], 2);
  EXPECT_EQ(report["failed"], 1);
  EXPECT_EQ(report["total_input_tokens"], 16);
  EXPECT_NEAR(report["median_ttft_ms"].get<double>(), 200.0, 1e-6);
  EXPECT_NEAR(report["request_goodput"].get<double>(), 0.5, 1e-9);
  EXPECT_EQ(report["errors"], Json::parse(R"(["", "", "busy, \"later\""])"));
  ASSERT_EQ(report["itls"].size(), 3u);
  EXPECT_EQ(report["itls"][0].dump(), "[0.4,0.2]");
  EXPECT_TRUE(report["itls"][2].empty());
  EXPECT_EQ(report["start_times"], Json::parse("[0.0, 1.0, 2.0]"));
}

TEST(ServeJson, WhatNobodyKnowsIsNull) {
  const Json report = small_report();
  for (const char* key :
       {"server", "samples", "steps", "noise", "label", "tokenizer_id", "max_concurrency", "total_cached_tokens"}) {
    EXPECT_TRUE(report[key].is_null()) << key;
  }
  EXPECT_TRUE(report["requests"][3]["first_token"].is_null());
  EXPECT_TRUE(report["requests"][3]["last_token"].is_null());
  EXPECT_GE(report["requests"][0]["last_token"], report["requests"][0]["first_token"]);
  EXPECT_LE(report["requests"][0]["last_token"], report["requests"][0]["ended"]);
  EXPECT_TRUE(report["requests"][3]["prompt_tokens"].is_null());
  EXPECT_TRUE(report["requests"][2]["phases"].is_null());
  const LoadRun nothing;
  const RunMetrics metrics = metrics_of(nothing, {});
  const LoadFacts load;
  const ServerFacts server;
  const ServerSamples samples{.t = {0.0}, .running = {1.0}, .waiting = {std::nan("")}};
  const StepSamples steps;
  const Interference noise;
  const Json empty = serve_json({.run = &nothing,
                                 .metrics = &metrics,
                                 .load = &load,
                                 .server = &server,
                                 .samples = &samples,
                                 .steps = &steps,
                                 .noise = &noise});
  EXPECT_TRUE(empty["median_ttft_ms"].is_null());
  EXPECT_TRUE(empty["request_throughput"].is_null());
  EXPECT_TRUE(empty["total_input_tokens"].is_null());
  EXPECT_TRUE(empty["server"]["mbu_percent"].is_null());
  EXPECT_TRUE(empty["samples"]["waiting"][0].is_null());
  EXPECT_TRUE(empty["noise"]["steal_percent"].is_null());
  EXPECT_EQ(empty["request_rate"], "inf");
  EXPECT_EQ(summary_text(empty).find("nan"), std::string::npos);
}

TEST(ServeJson, SaysOfEachRequestWhatItMetAndWentThrough) {
  const Json requests = small_report()["requests"];
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[0]["warmup"], true);
  EXPECT_EQ(requests[1]["good"], Json::parse("[0, 1]"));
  EXPECT_EQ(requests[2]["good"], Json::parse("[1]"));
  EXPECT_EQ(requests[3]["good"], Json::parse("[]"));
  EXPECT_EQ(requests[3]["outcome"], "rejected");
  EXPECT_EQ(requests[1]["phases"][0]["phase"], "prefill");
}

TEST(NumberText, HasFourDigitsAndNoNoise) {
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(1.0 / 3), "0.3333");
  EXPECT_EQ(number_text(0.00123456), "0.001235");
  EXPECT_EQ(number_text(12.5), "12.5");
  EXPECT_EQ(number_text(999.96), "1000");
  EXPECT_EQ(number_text(123456.7), "123457");
  EXPECT_EQ(number_text(-2.5), "-2.5");
  EXPECT_EQ(number_text(1.5e12), "1.5e+12");
  EXPECT_EQ(number_text(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(interval_text(Estimate{1.0, 0.5, 2.0}), "1 [0.5, 2]");
  EXPECT_EQ(interval_text(Estimate{1.0, 1.0, 1.0}), "1");
  EXPECT_EQ(interval_text(std::nullopt), "-");
  EXPECT_EQ(metric_label("p99_itl_ms"), "P99 ITL");
  EXPECT_EQ(metric_label("something_else"), "something_else");
}

TEST(Csv, OfServeHasALineForEachRequest) {
  const Json report = Json::parse(R"({"schema": "millrace.bench.serve", "requests": [
    {"index": 0, "session": 3, "turn": 1, "warmup": false, "due": 1.5, "sent": 1.501, "first_byte": 1.6, "first_token": 1.75,
     "ended": 2.5, "prompt_tokens": 7, "cached_tokens": null, "output_tokens": 4, "outcome": "whole", "status": 200,
     "error": "", "id": "a,b", "finish_reason": "stop", "good": [0, 2]},
    {"index": 1, "due": 2, "sent": null, "outcome": "cut", "error": "said \"no\"\nand left"}]})");
  EXPECT_EQ(csv_of(report),
            "index,session,turn,warmup,due,sent,first_byte,first_token,ended,prompt_tokens,cached_tokens,output_tokens,"
            "outcome,status,error,id,finish_reason,good,send_lag_ms,ttft_ms,due_to_end_ms\n"
            "0,3,1,false,1.5,1.501,1.6,1.75,2.5,7,,4,whole,200,,\"a,b\",stop,0 2,1.000,250.000,1000.000\n"
            "1,,,,2,,,,,,,,cut,,\"said \"\"no\"\"\nand left\",,,,,,\n");
}

TEST(Csv, OfSweepCompareAndPeersHasALineForEachMetric) {
  EXPECT_EQ(csv_of(Json::parse(R"({"schema": "millrace.bench.sweep", "series": [{"label": "a", "points": [
    {"x": 2, "runs": 3, "stopped": false, "noise": "quiet", "metrics": {"median_ttft_ms": {"value": 5.5, "low": 5, "high": null}}}]}]})")),
            "series,x,runs,stopped,noise,metric,value,low,high\n"
            "a,2,3,false,quiet,median_ttft_ms,5.5,5,\n");
  EXPECT_EQ(csv_of(Json::parse(R"({"schema": "millrace.bench.compare", "rounds": [
    {"order": "AB", "a": {"x_ms": 1}, "b": {"x_ms": 2}, "noise": {"verdict": "noisy"}},
    {"order": "BA", "a": {"x_ms": 1.5}, "b": {}, "noise": "quiet"}]})")),
            "round,order,noise,metric,a,b\n1,AB,noisy,x_ms,1,2\n2,BA,quiet,x_ms,1.5,\n");
  EXPECT_EQ(
      csv_of(Json::parse(R"({"schema": "millrace.bench.peers", "results": [{"peer": "p", "workload": "w", "rounds": [
    {"millrace": {"x_ms": 1}, "peer": {"x_ms": 2}}]}]})")),
      "peer,workload,round,metric,millrace,of_peer\np,w,1,x_ms,1,2\n");
  EXPECT_EQ(csv_of(Json::parse(R"({"schema": "else"})")), "");
}

TEST(Markdown, OfServeIsTables) {
  EXPECT_EQ(markdown_of(
                Json::parse(R"({"schema": "millrace.bench.serve", "model_id": "tiny", "completed": 9, "num_prompts": 10,
    "duration": 2.5, "total_output_tokens": 640, "mean_ttft_ms": 100.5, "p90_ttft_ms": 120, "p95_ttft_ms": 130,
    "date": "2026-01-02T03:04:05Z", "machine": {"processor": "A | B"},
    "estimates": {"median_ttft_ms": {"value": 99, "low": 90, "high": 111}, "request_throughput": {"value": 4, "low": 4, "high": 4}},
    "goodput": [{"slo": {"ttft_ms": 200, "tpot_ms": 50}, "share": {"value": 0.9, "low": 0.5, "high": 0.98}, "requests_s": 3.6, "tokens_s": null}],
    "noise": {"verdict": "noisy", "reasons": ["Others ran."]}})")),
            R"(## millrace bench serve: tiny

Client on A | B, 2026-01-02T03:04:05Z.

9 of 10 requests in 2.5 s, 640 output tokens.

| Throughput | a second [95 %] |
|---|---:|
| Requests | 4 |
| Output tokens | - |
| All tokens | - |

| Latency (ms) | Mean | Median [95 %] | P90 | P95 | P99 [95 %] |
|---|---:|---:|---:|---:|---:|
| Time to first token | 100.5 | 99 [90, 111] | 120 | 130 | - |
| Time per output token | - | - | - | - | - |
| Gap between tokens | - | - | - | - | - |
| Whole request | - | - | - | - | - |

| SLO | Share | req/s | tok/s |
|---|---:|---:|---:|
| ttft 200 ms, tpot 50 ms | 0.9 [0.5, 0.98] | 3.6 | - |

Machine: noisy. Others ran.

)");
}

TEST(Markdown, OfSweepAndCompareIsTables) {
  EXPECT_EQ(markdown_of(Json::parse(R"({"schema": "millrace.bench.sweep",
    "axis": {"label": "Requests", "unit": "1/s"}, "series": [{"label": "a", "points": [
      {"x": 1, "metrics": {"median_ttft_ms": {"value": 10, "low": 9, "high": 11}}},
      {"x": 2, "metrics": {"output_throughput": {"value": 99, "low": 90, "high": 100}}}]}],
    "knee": [{"label": "a", "x": 1.5, "why": "It bends."}],
    "frontier": [{"label": "a", "slo": {"e2el_ms": 1000}, "wanted_share": 0.9, "rate": null}]})")),
            R"(## millrace bench sweep

### a

| Requests (1/s) | Median TTFT (ms) | Output tokens (tok/s) |
|---|---:|---:|
| 1 | 10 [9, 11] | - |
| 2 | - | 99 [90, 100] |

Knee of a: 1.5. It bends.

| Series | SLO | Share wanted | Highest rate (req/s) |
|---|---:|---:|---:|
| a | e2el 1000 ms | 0.9 | - |

)");
  EXPECT_EQ(
      markdown_of(Json::parse(R"({"schema": "millrace.bench.compare", "verdict": "regression", "threshold_percent": 3,
    "sides": [{"name": "old|er"}, {"name": "new"}], "rounds": [{}, {}], "verdicts": [{"metric": "median_ttft_ms",
    "unit": "ms", "a": 100, "b": 110, "ratio": {"value": 1.1, "low": 1.08, "high": 1.12}, "noise_ratio": 0.01, "verdict": "B worse"}]})")),
      R"(## millrace bench compare

**regression** over 2 rounds; changes below 3 % are equal.

| Metric | A: old\|er | B: new | B / A [95 %] | Noise | Verdict |
|---|---:|---:|---:|---:|---:|
| Median TTFT (ms) | 100 | 110 | 1.1 [1.08, 1.12] | 1 % | B worse |

)");
}

TEST(Report, OfAnythingAtAllIsReadWithoutHarm) {
  for (const char* schema : {"serve", "sweep", "compare", "peers"}) {
    for (const char* text :
         {"{}", R"({"requests": 3, "series": "x", "rounds": {}, "verdicts": [1], "results": null})",
          R"({"requests": [null, 1, "x", {}], "series": [{"points": [0]}], "rounds": [[]], "sides": 1,
                                 "estimates": [1], "knee": 1, "frontier": "x", "goodput": {"a": 1}, "noise": [],
                                 "results": [{"ratios": 1, "rounds": [2]}], "machine": 1})"}) {
      Json report = Json::parse(text);
      report["schema"] = std::string("millrace.bench.") + schema;
      EXPECT_NO_THROW(csv_of(report));
      EXPECT_NO_THROW(markdown_of(report));
      EXPECT_NO_THROW(summary_text(report));
    }
  }
}

TEST(SummaryText, HasTheBlocksOfVllmInItsOrder) {
  const std::string summary = summary_text(small_report());
  std::size_t at = 0;
  for (const char* part : {"Serving Benchmark Result",
                           "Successful requests:                     2",
                           "Failed requests:",
                           "Request rate configured (RPS):           1.00",
                           "Benchmark duration (s):                  2.00",
                           "Total input tokens:                      16",
                           "Total generated tokens:                  6",
                           "Request throughput (req/s):              1.00",
                           "Request goodput (req/s):                 0.50",
                           "Output token throughput (tok/s):         3.00",
                           "Peak concurrent requests:",
                           "Total token throughput (tok/s):",
                           "Time to First Token",
                           "Mean TTFT (ms):                          200.00",
                           "Median TTFT (ms):",
                           "P99 TTFT (ms):",
                           "Time per Output Token",
                           "Inter-token Latency",
                           "End-to-end Latency",
                           "Goodput",
                           "ttft 200 ms (%):                         33.33      [",
                           "Client and Server",
                           "===="}) {
    const std::size_t found = summary.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << "\n" << summary;
    at = found;
  }
}

}  // namespace
}  // namespace millrace::loadtest::report

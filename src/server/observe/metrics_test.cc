#include "server/observe/metrics.h"
#include "engine/load/step_meter.h"
#include "model/blocks/attention.h"
#include "model/blocks/mlp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <thread>

#include "base/old_names.h"
#include "metrics/prometheus_text.h"
#include "server/observe/dashboard.h"
#include "server/observe/explain.h"
#include "server/observe/metric_aliases.h"
#include "server/observe/metric_table.h"
#include "server/observe/testing/observed_run.h"

namespace millrace::server::observe {
namespace {

const std::string kRoot = std::string(MILLRACE_TEST_DATA) + "/../../";

model::ModelSpec tiny_spec() {
  model::ModelSpec spec;
  spec.hidden_size = 64;
  spec.vocab_size = 100;
  const model::LayerSpec layer{
      .blocks = {model::AttentionParams{.heads = 4, .kv_heads = 2, .head_dim = 16}, model::MlpParams{.width = 128}}};
  spec.layers = {layer, layer};
  return spec;
}

ServedModel tiny_model() {
  return {.name = "tiny",
          .block_tokens = 8,
          .pages = 64,
          .weight_bytes = 1000,
          .kv_bytes = 200,
          .drafting_bytes = 30,
          .peaks = std::make_shared<engine::LivePeaks>(engine::MachinePeaks{.read_gb_s = 1.0, .gop_s = 1.0})};
}

class MetricsTest : public testing::Test {
 protected:
  void observe(ObservedRun& run) {
    metrics_.emplace(
        MetricsConfig{.version = "1.2",
                      .tenants = {"red", "blue"},
                      .objectives = {{.ttft_ms = 1000.0}, {.ttft_ms = 1.0, .tpot_ms = 1.0}, {.latency_ms = 1e6}},
                      .compat = {"sglang", "llamacpp"}},
        run.env);
    metrics_->add_model(tiny_model());
    run.engine->reporter().observe([this](const engine::StepReport& report) { metrics_->step("tiny", report); });
    run.on_end = [this](const RequestRecord& record) { metrics_->request(record); };
  }
  metrics::MetricsReading read(const Snapshot& snapshot = {}) {
    text_ = metrics_->text(snapshot);
    return metrics::MetricsReading::parse(text_).or_throw();
  }
  std::optional<Metrics> metrics_;
  std::string text_;
};

TEST_F(MetricsTest, CountsWhatAnEngineDid) {
  ObservedRun run(64, 2);
  observe(run);
  for (int i = 0; i < 3; ++i) run.submit(40 + i, 10, i + 1);
  run.run();
  const metrics::MetricsReading reading = read();
  EXPECT_EQ(reading.sum("vllm:prompt_tokens_total"), 40 + 41 + 42);
  EXPECT_EQ(reading.sum("vllm:generation_tokens_total"), 30);
  EXPECT_EQ(reading.sum("vllm:request_success_total", {{"finished_reason", "length"}}), 3);
  EXPECT_EQ(reading.sum("vllm:time_to_first_token_seconds_count"), 3);
  EXPECT_EQ(reading.sum("vllm:inter_token_latency_seconds_count"), 27);
  EXPECT_EQ(reading.sum("vllm:e2e_request_latency_seconds_count"), 3);
  EXPECT_EQ(reading.sum("millrace:step_tokens_total", {{"kind", "prefill"}}), 123);
  EXPECT_EQ(reading.sum("millrace:step_tokens_total", {{"kind", "decode"}}), 27);
  EXPECT_EQ(reading.sum("vllm:num_requests_running", {{"model_name", "tiny"}, {"engine", "0"}}), 0);
  EXPECT_EQ(reading.sum("vllm:cache_config_info", {{"block_size", "8"}, {"num_gpu_blocks", "64"}}), 1);
  EXPECT_EQ(reading.sum("millrace:kv_pages"), 64);
  EXPECT_EQ(reading.sum("millrace:memory_bytes", {{"kind", "drafting"}}), 30);
  EXPECT_EQ(reading.sum("millrace:memory_bytes"), 1230);
  EXPECT_EQ(reading.sum("millrace:slo_requests_total"), 9);
  EXPECT_EQ(reading.sum("millrace:slo_attained_total", {{"slo", "ttft<=1000ms"}}), 3);
  EXPECT_EQ(reading.sum("millrace:slo_attained_total", {{"slo", "ttft<=1ms,tpot<=1ms"}}), 0);
  EXPECT_EQ(reading.sum("millrace:slo_attained_total", {{"slo", "e2el<=1e+06ms"}}), 3);
  EXPECT_NEAR(reading.sum("millrace:request_time_seconds_total"), reading.sum("vllm:e2e_request_latency_seconds_sum"),
              1e-9);
  EXPECT_GT(reading.sum("millrace:request_time_seconds_total", {{"cause", "queue"}}), 0.0);
  EXPECT_EQ(reading.sum("sglang:generation_tokens_total"), 30);
  EXPECT_EQ(reading.sum("llamacpp:tokens_predicted_total"), 30);
  EXPECT_GT(reading.sum("process_resident_memory_bytes"), 1e6);
  EXPECT_GE(reading.sum("process_threads"), 1);
  EXPECT_GE(reading.sum("process_open_fds"), 3);
  EXPECT_GT(reading.sum("process_start_time_seconds"), 1.6e9);
}

TEST_F(MetricsTest, ShowsAdaptersAsTheyAreNow) {
  ObservedRun run;
  observe(run);
  Snapshot now;
  now.engines.push_back({.model = "tiny"});
  AdapterSnapshot& adapters = now.engines[0].adapters;
  adapters.running = "a,b";
  adapters.figures = {.limit = 4, .resident = 3, .bytes = 700, .loads = 5, .evictions = 2, .hits = 9, .misses = 4};
  metrics::MetricsReading reading = read(now);
  EXPECT_GT(reading.sum("vllm:lora_requests_info",
                        {{"max_lora", "4"}, {"running_lora_adapters", "a,b"}, {"waiting_lora_adapters", ""}}),
            1.6e9);
  EXPECT_EQ(reading.sum("millrace:adapters_resident"), 3);
  EXPECT_EQ(reading.sum("millrace:memory_bytes", {{"kind", "adapters"}}), 700);
  adapters.running.clear();
  adapters.figures.loads = 1;  // of a model that was loaded again
  adapters.figures.hits = 10;
  reading = read(now);
  EXPECT_EQ(reading.sum("vllm:lora_requests_info"), 0) << "the state before is no series of its own";
  EXPECT_EQ(reading.sum("millrace:adapter_loads_total"), 6);
  EXPECT_EQ(reading.sum("millrace:adapter_hits_total"), 10);
  EXPECT_EQ(reading.sum("millrace:adapter_misses_total"), 4);
  EXPECT_EQ(reading.sum("millrace:adapter_evictions_total"), 2);
}

TEST_F(MetricsTest, CountsDraftsByAdapter) {
  ObservedRun run;
  observe(run);
  RequestRecord record{.model = "tiny", .adapter = "a"};
  record.answers = {{.stats = {.drafted_tokens = 7, .accepted_tokens = 5}, .finish = engine::FinishReason::kStop}};
  metrics_->request(record);
  const metrics::MetricsReading reading = read();
  EXPECT_EQ(reading.sum("millrace:adapter_draft_tokens_total", {{"adapter", "a"}}), 7);
  EXPECT_EQ(reading.sum("millrace:adapter_accepted_tokens_total", {{"adapter", "a"}}), 5);
}

TEST_F(MetricsTest, ShowsOnADashboardWhatHappenedBetweenTwoReadings) {
  ObservedRun run;
  observe(run);
  run.submit(40, 11);
  run.run();
  const metrics::MetricsReading before = read();
  for (int i = 0; i < 2; ++i) run.submit(50, 21, i + 2);
  run.run();
  const auto views = views_of(before, read(), 2.0);
  ASSERT_EQ(views.size(), 1u);
  EXPECT_EQ(views[0].model, "tiny");
  EXPECT_DOUBLE_EQ(views[0].output_tokens_s, 21.0);
  EXPECT_DOUBLE_EQ(views[0].prompt_tokens_s, 50.0);
  EXPECT_DOUBLE_EQ(views[0].requests_s, 1.0);
  EXPECT_NEAR(views[0].forward_share, 1.0, 1e-9);
  EXPECT_GT(views[0].step_sequences, 1.5);
  EXPECT_GT(views[0].itl_p50, 0.004);
  EXPECT_LT(views[0].itl_p50, 0.02);
  EXPECT_GE(views[0].ttft_p95, views[0].ttft_p50);
  EXPECT_TRUE(views[0].up);
}

TEST_F(MetricsTest, UtilizationIsWorkOverThePeakOfTheStepsTime) {
  ObservedRun run;
  observe(run);
  run.submit(1, 4);
  double bytes = 0.0, operations = 0.0, seconds = 0.0;
  run.engine->reporter().measure(engine::load::StepMeter(tiny_spec(), 1e6, 256.0));
  run.engine->reporter().observe([&](const engine::StepReport& report) {
    metrics_->step("tiny", report);
    bytes += report.workload.read_bytes;
    operations += report.workload.operations;
    seconds += milliseconds_between(report.start, report.end) / 1e3;
  });
  run.run();
  EXPECT_DOUBLE_EQ(bytes, 4 * 1e6 + 256.0 * (1 + 2 + 3 + 4));
  const double layer = 2.0 * 64 * (64 + 32 + 32 + 64 + 3 * 128);
  EXPECT_DOUBLE_EQ(operations, 4 * (2 * layer + 2.0 * 64 * 100) + 2 * 4.0 * 64 * (1 + 2 + 3 + 4));
  const Snapshot snapshot{
      .engines = {{.model = "tiny", .last_step_age_seconds = 3.5, .paused = 2, .kv_extents = {100, 75, 50}}},
      .connections = 5};
  const metrics::MetricsReading reading = read(snapshot);
  EXPECT_NEAR(reading.sum("millrace:memory_bandwidth_utilization"), bytes / seconds / 1e9, 1e-9);
  EXPECT_NEAR(reading.sum("millrace:compute_utilization"), operations / seconds / 1e9, 1e-9);
  EXPECT_EQ(reading.sum("millrace:peak_read_bytes_per_second"), 1e9);
  EXPECT_EQ(reading.sum("millrace:peak_operations_per_second"), 1e9);
  EXPECT_EQ(reading.sum("vllm:estimated_read_bytes_per_gpu_total"), bytes);
  EXPECT_EQ(reading.sum("millrace:last_step_age_seconds"), 3.5);
  EXPECT_EQ(reading.sum("millrace:paused_streams"), 2);
  for (const OldName& one : all_old_names()) {
    if (one.kind != OldName::Kind::kMetric) continue;
    EXPECT_TRUE(reading.has(one.old)) << one.old;
    EXPECT_EQ(reading.sum(one.old), reading.sum(one.now)) << one.old;
  }
  EXPECT_EQ(reading.sum("millrace:kv_contiguous_ratio"), 0.75);
  EXPECT_EQ(reading.sum("millrace:kv_long_extent_ratio"), 0.5);
  EXPECT_EQ(reading.sum("millrace:http_connections"), 5);
  run.env.time += std::chrono::seconds(20);
  EXPECT_EQ(read(snapshot).sum("millrace:memory_bandwidth_utilization"), 0.0);
}

TEST_F(MetricsTest, WindowsBoundWhatIsRead) {
  model::ModelSpec spec = tiny_spec();
  spec.layers[1].get<model::AttentionParams>().window = 4;
  const engine::load::StepMeter meter(spec, 0.0, 100.0);
  const engine::RowReport row{.first = 6, .tokens = 2};
  engine::StepReport report{.prefill_tokens = 2, .kv_tokens_read = 8, .kv_tokens_attended = 7 + 8};
  report.rows = std::span(&row, 1);
  EXPECT_DOUBLE_EQ(meter(report).read_bytes, 50.0 * 8 + 50.0 * 5);
  report.experts.bytes = 1000.0;
  EXPECT_DOUBLE_EQ(meter(report).read_bytes, 1000.0 + 50.0 * 8 + 50.0 * 5);
  const double layer = 2.0 * 64 * (64 + 32 + 32 + 64 + 3 * 128);
  EXPECT_DOUBLE_EQ(meter(report).operations, 2 * 2 * layer + 4.0 * 64 * (15 + 8));
}

TEST_F(MetricsTest, LabelsStayBoundedWhateverClientsSend) {
  ObservedRun run;
  observe(run);
  for (int i = 0; i < 1000; ++i) {
    metrics_->http({.method = "M" + std::to_string(i), .path = "/", .status = i}, "/route" + std::to_string(i));
    metrics_->rejected("reason" + std::to_string(i));
    metrics_->request({.model = "model" + std::to_string(i), .tenant = "tenant" + std::to_string(i)});
  }
  metrics_->http({.method = "GET", .path = "/\"x\n", .status = 404}, "");
  const metrics::MetricsReading reading = read();
  EXPECT_EQ(reading.sum("http_requests_total"), 1001);
  EXPECT_EQ(reading.sum("vllm:admission_rejections_total", {{"reason", "other"}}), 1000 - 32);
  EXPECT_EQ(reading.sum("millrace:tenant_requests_total", {{"tenant", "other"}}),
            1000 - 254);  // red and blue have labels
  EXPECT_LT(text_.size(), 1'000'000u);
}

TEST_F(MetricsTest, StepsRequestsAndScrapesMayHappenAtOnce) {
  ObservedRun run;
  observe(run);
  std::atomic<bool> done = false;
  std::jthread scraper([&] {
    while (!done) (void)metrics_->text({});
  });
  std::jthread client([&] {
    while (!done) metrics_->http({.method = "GET", .path = "/", .status = 200, .seconds = 0.1}, "/health");
  });
  for (int i = 0; i < 40; ++i) run.submit(10, 10);
  run.run();
  done = true;
  client.join();
  scraper.join();
  EXPECT_EQ(read().sum("vllm:generation_tokens_total"), 400);
}

TEST(MetricTable, HasNamesOnceAndBucketsInOrder) {
  std::set<std::string_view> names;
  for (const MetricInfo& info : all_metrics()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(info.kind == MetricKind::kHistogram, !info.buckets.empty()) << info.name;
    EXPECT_TRUE(std::ranges::is_sorted(info.buckets)) << info.name;
    EXPECT_TRUE(info.kind != MetricKind::kCounter || info.name.ends_with("_total")) << info.name;
  }
  for (const MetricAlias& alias : all_aliases()) EXPECT_TRUE(names.contains(alias.source)) << alias.name;
  EXPECT_EQ(parse_metrics_compat("vllm,sglang")->size(), 2u);
  EXPECT_FALSE(parse_metrics_compat("tgi"));
}

std::string file(const std::string& path) {
  std::ifstream in(kRoot + path);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

// The metrics that queries of a file ask for, without the suffixes of histograms.
std::set<std::string> names_in(const std::string& text) {
  std::set<std::string> names;
  const std::regex pattern("\\b((vllm|millrace):[a-z0-9_]+|process_[a-z_]+|http_request[a-z_]+)");
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    names.insert(std::regex_replace((*it)[1].str(), std::regex("_(bucket|sum|count)$"), ""));
  }
  return names;
}

// Of the dashboard and the alerts.
std::set<std::string> deployed_names() {
  const nlohmann::json dashboard = nlohmann::json::parse(file("deploy/grafana/millrace.json"));
  std::string queries = file("deploy/prometheus/alerts.yml");
  for (const auto& panel : dashboard.at("panels")) {
    if (panel.at("type") == "row") continue;
    EXPECT_FALSE(panel.at("targets").empty()) << panel.at("title");
    for (const auto& target : panel.at("targets")) queries += "\n" + target.at("expr").get<std::string>();
  }
  return names_in(queries);
}

TEST(Deployment, AsksOnlyForMetricsThatExist) {
  const auto names = deployed_names();
  EXPECT_GT(names.size(), 20u);
  for (const std::string& name : names) {
    EXPECT_NE(std::ranges::find(all_metrics(), name, &MetricInfo::name), all_metrics().end()) << name;
  }
}

TEST_F(MetricsTest, ExportsAllThatDashboardAndAlertsAskFor) {
  ObservedRun run(64, 2);
  observe(run);
  for (int i = 0; i < 3; ++i) run.submit(40 + i, 10, i + 1);
  run.run();
  metrics_->http({.method = "GET", .path = "/health", .status = 200}, "/health");
  metrics_->rejected("capacity");
  metrics_->auth_failure();
  RequestRecord record = run.records.begin()->second;
  record.tenant = "red";
  metrics_->request(record);
  static_cast<void>(read({.engines = {{.model = "tiny"}}}));
  for (const std::string& name : deployed_names()) {
    EXPECT_NE(text_.find("# TYPE " + name + " "), std::string::npos) << name;
  }
}

TEST(Documentation, ListsEveryMetricWithItsMeaning) {
  const std::string page = file("docs/observability.md");
  for (const MetricInfo& info : all_metrics()) {
    const std::string line = "| `" + std::string(info.name) + "` | " +
                             (info.kind == MetricKind::kCounter ? "counter"
                              : info.kind == MetricKind::kGauge ? "gauge"
                                                                : "histogram") +
                             " | " + std::string(info.labels) + " | " + std::string(info.help) + " |";
    EXPECT_NE(page.find(line), std::string::npos) << line;
  }
  for (const MetricAlias& alias : all_aliases()) EXPECT_NE(page.find(alias.name), std::string::npos) << alias.name;
  for (const std::string_view cause : cause_names()) {
    EXPECT_NE(page.find("`" + std::string(cause) + "`"), std::string::npos) << cause;
  }
}

TEST(Explain, NamesTheGreatestCauseFirstAndAddsUp) {
  ObservedRun run(64, 1);
  const auto first = run.submit(100, 30);
  const auto second = run.submit(20, 5, 2);
  run.run();
  for (const auto id : {first, second}) {
    const AnswerRecord& answer = run.records.at(id).answers.front();
    double ms = 0.0, share = 0.0;
    for (const Cause& cause : explain(answer.stats, answer.spent)) {
      ms += cause.milliseconds;
      share += cause.share;
      EXPECT_FALSE(cause.sentence.empty());
    }
    EXPECT_NEAR(ms, milliseconds_between(answer.stats.arrival, answer.spent.finished), 1e-6);
    EXPECT_NEAR(share, 1.0, 1e-9);
  }
  const AnswerRecord& waited = run.records.at(second).answers.front();
  EXPECT_EQ(explain(waited.stats, waited.spent).front().name, "queue");
  const AnswerRecord& alone = run.records.at(first).answers.front();
  EXPECT_EQ(explain(alone.stats, alone.spent).front().name, "decode");
}

}  // namespace
}  // namespace millrace::server::observe

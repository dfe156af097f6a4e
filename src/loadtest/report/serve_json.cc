#include "loadtest/report/serve_json.h"

#include <algorithm>

#include "loadtest/itl_heat.h"
#include "loadtest/model_groups.h"
#include "loadtest/report/request_json.h"

namespace millrace::loadtest::report {
namespace {

// vLLM's numbers of one metric; null where no request has a value.
void add_latency(const char* name, const LatencyMetrics& metrics, bool known, Json& report) {
  const auto add = [&](const std::string& prefix, double value) {
    report[prefix + "_" + name + "_ms"] = known ? json_of(value) : Json(nullptr);
  };
  add("mean", metrics.mean);
  add("median", metrics.median);
  add("std", metrics.deviation);
  add("p90", metrics.p90);
  add("p95", metrics.p95);
  add("p99", metrics.p99);
}

void add_vllm_metrics(const RunFacts& facts, Json& report) {
  const RunMetrics& metrics = *facts.metrics;
  const LoadFacts& load = *facts.load;
  const auto known = [&](auto tokens) {
    return std::any_of(facts.run->records.begin(), facts.run->records.end(),
                       [&](const RequestRecord& r) { return counts(r) && r.good() && r.*tokens >= 0; });
  };
  const auto throughput = [&](const char* name) {
    const Estimate* estimate = metrics.find(name);
    return json_of(estimate != nullptr ? std::optional(estimate->value) : std::nullopt);
  };
  report["backend"] = load.backend;
  report["label"] = text_json(load.label);
  report["model_id"] = text_json(load.model);
  report["tokenizer_id"] = text_json(load.tokenizer);
  report["num_prompts"] = metrics.completed + metrics.failed;
  report["request_rate"] = load.request_rate ? json_of(*load.request_rate) : Json("inf");
  report["burstiness"] = json_of(load.burstiness);
  report["max_concurrency"] = load.max_concurrency ? Json(*load.max_concurrency) : Json(nullptr);
  report["duration"] = json_of(metrics.seconds);
  report["completed"] = metrics.completed;
  report["failed"] = metrics.failed;
  report["total_input_tokens"] = known(&RequestRecord::prompt_tokens) ? Json(metrics.input_tokens) : Json(nullptr);
  report["total_output_tokens"] = metrics.output_tokens;
  report["request_throughput"] = throughput("request_throughput");
  report["request_goodput"] = metrics.goodput.empty() ? Json(nullptr) : json_of(metrics.goodput[0].requests_s);
  report["output_throughput"] = throughput("output_throughput");
  report["total_token_throughput"] = throughput("total_token_throughput");
  report["max_concurrent_requests"] = metrics.max_at_once;
  add_latency("ttft", metrics.ttft, metrics.find("median_ttft_ms") != nullptr, report);
  add_latency("tpot", metrics.tpot, metrics.find("median_tpot_ms") != nullptr, report);
  add_latency("itl", metrics.itl, metrics.find("median_itl_ms") != nullptr, report);
  add_latency("e2el", metrics.latency, metrics.find("median_e2el_ms") != nullptr, report);
  for (const auto& [name, value] : metrics.percentiles) report[name] = json_of(value);
  report["total_cached_tokens"] = known(&RequestRecord::cached_tokens) ? Json(metrics.cached_tokens) : Json(nullptr);
}

Json load_json(const RunFacts& facts) {
  const LoadFacts& load = *facts.load;
  return {{"kind", load.closed ? "closed" : "open"},
          {"workload", load.workload},
          {"arrivals", load.arrivals},
          {"users", load.users},
          {"think_s", load.think_s},
          {"sessions", load.sessions},
          {"turns", load.turns},
          {"warmup", load.warmup},
          {"seed", load.seed},
          {"stopped", facts.run->stopped}};
}

Json client_json(const RunFacts& facts) {
  const metrics::Distribution& lag = facts.metrics->send_lag;
  const double seconds = facts.run->seconds;
  return {
      {"cpu_share", seconds > 0.0 ? json_of(facts.run->client_cpu_s / seconds) : Json(nullptr)},
      {"cpu_seconds", json_of(facts.run->client_cpu_s)},
      {"send_lag_ms", {{"mean", lag.mean}, {"p50", lag.p50}, {"p90", lag.p90}, {"p99", lag.p99}, {"max", lag.max}}}};
}

Json server_json(const ServerFacts* server) {
  if (server == nullptr) return nullptr;
  Json counters = Json::object();
  for (const auto& [name, increase] : server->counters) counters[name] = json_of(increase);
  return {{"model_bytes", json_of(server->model_bytes)},
          {"kv_bytes_per_token", json_of(server->kv_bytes_per_token)},
          {"kv_capacity_tokens", json_of(server->kv_capacity_tokens)},
          {"resident_peak_bytes", json_of(server->resident_peak_bytes)},
          {"cpu_seconds", json_of(server->cpu_seconds)},
          {"mbu_percent", json_of(server->mbu_percent)},
          {"mfu_percent", json_of(server->mfu_percent)},
          {"read_gb_s", json_of(server->read_gb_s)},
          {"peak_gop_s", json_of(server->peak_gop_s)},
          {"limit_note", server->limit_exceeded ? Json("limit not known (measured under load)") : Json()},
          {"energy_joules", json_of(server->energy_joules)},
          {"counters", std::move(counters)}};
}

Json groups_json(const LoadRun& run, const std::string& model) {
  const std::vector<ModelGroup> groups = model_groups(run);
  if (groups.empty()) return nullptr;
  Json out = Json::array();
  for (const ModelGroup& group : groups) {
    const bool any = group.completed > 0;
    out.push_back({{"model", group.model.empty() ? model : group.model},
                   {"adapter", !group.model.empty()},
                   {"completed", group.completed},
                   {"failed", group.failed},
                   {"output_tokens", group.output_tokens},
                   {"median_ttft_ms", any ? json_of(group.ttft_ms.p50) : Json(nullptr)},
                   {"p99_ttft_ms", any ? json_of(group.ttft_ms.p99) : Json(nullptr)},
                   {"median_tpot_ms", any ? json_of(group.tpot_ms.p50) : Json(nullptr)},
                   {"waited", group.waited},
                   {"mean_wait_ms", json_of(group.wait_ms)}});
  }
  return out;
}

Json list_json(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(json_of(value));
  return out;
}

Json samples_json(const ServerSamples* samples) {
  if (samples == nullptr) return nullptr;
  return {{"t", list_json(samples->t)},
          {"running", list_json(samples->running)},
          {"waiting", list_json(samples->waiting)},
          {"kv_used", list_json(samples->kv_used)},
          {"prefill_tok_s", list_json(samples->prefill_tok_s)},
          {"decode_tok_s", list_json(samples->decode_tok_s)},
          {"mbu_percent", list_json(samples->mbu_percent)},
          {"resident_bytes", list_json(samples->resident_bytes)}};
}

Json steps_json(const StepSamples* steps) {
  if (steps == nullptr) return nullptr;
  return {{"t", list_json(steps->t)},
          {"ms", list_json(steps->ms)},
          {"prefill_tokens", steps->prefill_tokens},
          {"decode_tokens", steps->decode_tokens},
          {"sequences", steps->sequences},
          {"running", steps->running},
          {"waiting", steps->waiting},
          {"pages_used", steps->pages_used},
          {"pages_free", steps->pages_free},
          {"preempted", steps->preempted}};
}

}  // namespace

Json serve_json(const RunFacts& facts) {
  Json report = Json::object();
  add_vllm_metrics(facts, report);
  add_vllm_lists(*facts.run, report);
  report["target"] = {{"url", facts.load->url},
                      {"spawned", text_json(facts.load->spawned)},
                      {"server", text_json(facts.load->server)},
                      {"version", text_json(facts.load->server_version)}};
  report["load"] = load_json(facts);
  report["estimates"] = Json::object();
  for (const auto& [name, estimate] : facts.metrics->estimates) report["estimates"][name] = json_of(estimate);
  report["goodput"] = Json::array();
  for (const RunMetrics::Goodput& goodput : facts.metrics->goodput) report["goodput"].push_back(json_of(goodput));
  report["client"] = client_json(facts);
  report["server"] = server_json(facts.server);
  report["samples"] = samples_json(facts.samples);
  report["steps"] = steps_json(facts.steps);
  report["requests"] = requests_json(facts);
  const ItlHeat heat = itl_heat(*facts.run);
  report["itl_heat"] = {{"t", heat.t}, {"ms", heat.ms}, {"counts", heat.counts}};
  report["models"] = groups_json(*facts.run, facts.load->model);
  report["noise"] = facts.noise != nullptr ? json_of(*facts.noise) : Json(nullptr);
  return report;
}

}  // namespace millrace::loadtest::report

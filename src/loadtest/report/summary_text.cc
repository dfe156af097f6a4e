#include "loadtest/report/summary_text.h"

#include <fmt/core.h>

#include <charconv>
#include <map>

#include "loadtest/report/number_text.h"

namespace millrace::loadtest::report {
namespace {

constexpr std::size_t kTextWidth = 64;
constexpr int kLabelWidth = 40, kValueWidth = 10;

std::string ruled(const std::string& title, char mark) {
  const std::size_t rest = kTextWidth - std::min(kTextWidth, title.size());
  return std::string(rest / 2, mark) + title + std::string(rest - rest / 2, mark) + "\n";
}

std::string line(const std::string& label, const std::string& value, const std::optional<Estimate>& interval = {}) {
  std::string out = fmt::format("{:<{}} {:<{}}", label, kLabelWidth, value, kValueWidth);
  if (interval && interval->low != interval->high) {
    out += fmt::format(" [{}, {}]", number_text(interval->low), number_text(interval->high));
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out + "\n";
}

std::string whole(const std::optional<double>& value) { return value ? fmt::format("{:.0f}", *value) : "-"; }
std::string cents(const std::optional<double>& value) { return value ? fmt::format("{:.2f}", *value) : "-"; }

struct Latency {
  const char *name, *label, *title;
};
constexpr Latency kLatencyBlocks[] = {{"ttft", "TTFT", "Time to First Token"},
                                      {"tpot", "TPOT", "Time per Output Token (excl. 1st token)"},
                                      {"itl", "ITL", "Inter-token Latency"},
                                      {"e2el", "E2EL", "End-to-end Latency"}};

// Of "p99.9_ttft_ms" and metric "ttft" 99.9; none for any other name.
std::optional<double> level_of(std::string_view name, std::string_view metric) {
  const std::string ending = fmt::format("_{}_ms", metric);
  if (!name.starts_with('p') || !name.ends_with(ending)) return std::nullopt;
  name = name.substr(1, name.size() - 1 - ending.size());
  double level = 0.0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), level);
  return error == std::errc() && end == name.data() + name.size() ? std::optional(level) : std::nullopt;
}

std::string latency_block(const Json& report, const Latency& latency) {
  std::string out = ruled(latency.title, '-');
  const auto add = [&](const std::string& label, const std::string& name) {
    out += line(fmt::format("{} {} (ms):", label, latency.label), cents(number(report, name)),
                estimate(member(report, "estimates"), name));
  };
  add("Mean", fmt::format("mean_{}_ms", latency.name));
  add("Median", fmt::format("median_{}_ms", latency.name));
  std::map<double, std::string> percentiles;
  for (const auto& [name, value] : report.items()) {
    if (const auto level = level_of(name, latency.name)) percentiles.emplace(*level, name);
  }
  for (const auto& [level, name] : percentiles) add(fmt::format("P{:g}", level), name);
  return out;
}

std::string throughput_block(const Json& report) {
  std::string out;
  const std::pair<const char*, const char*> counts[] = {{"completed", "Successful requests:"},
                                                        {"failed", "Failed requests:"},
                                                        {"max_concurrency", "Maximum request concurrency:"}};
  for (const auto& [name, label] : counts) {
    if (const auto value = number(report, name)) out += line(label, whole(value));
  }
  if (const auto rate = number(report, "request_rate")) out += line("Request rate configured (RPS):", cents(rate));
  out += line("Benchmark duration (s):", cents(number(report, "duration")));
  out += line("Total input tokens:", whole(number(report, "total_input_tokens")));
  out += line("Total generated tokens:", whole(number(report, "total_output_tokens")));
  const auto rate_line = [&](const char* name, const char* label) {
    out += line(label, cents(number(report, name)), estimate(member(report, "estimates"), name));
  };
  rate_line("request_throughput", "Request throughput (req/s):");
  if (number(report, "request_goodput")) rate_line("request_goodput", "Request goodput (req/s):");
  rate_line("output_throughput", "Output token throughput (tok/s):");
  out += line("Peak concurrent requests:", whole(number(report, "max_concurrent_requests")));
  rate_line("total_token_throughput", "Total token throughput (tok/s):");
  return out;
}

std::string goodput_block(const Json& report) {
  std::string out;
  for (const Json& goodput : member(report, "goodput")) {
    std::string slo;
    for (const auto& [name, ms] : member(goodput, "slo").items()) {
      slo += fmt::format("{}{} {}", slo.empty() ? "" : ", ", name.substr(0, name.find("_ms")),
                         number_text(number(member(goodput, "slo"), name)));
    }
    auto share = estimate(goodput, "share");
    if (share) share = Estimate{share->value * 100, share->low * 100, share->high * 100};
    out += line(fmt::format("{} ms (%):", slo), share ? cents(share->value) : "-", share);
  }
  return out.empty() ? out : ruled("Goodput", '-') + out;
}

std::string machine_block(const Json& report) {
  const Json &client = member(report, "client"), &server = member(report, "server"), &noise = member(report, "noise");
  std::string out = ruled("Client and Server", '-');
  if (const auto share = number(client, "cpu_share")) out += line("Client CPU (% of one core):", cents(*share * 100));
  out += line("P99 send lag (ms):", cents(number(member(client, "send_lag_ms"), "p99")));
  const std::pair<const char*, const char*> facts[] = {{"mbu_percent", "Memory bandwidth used (%):"},
                                                       {"mfu_percent", "Arithmetic used (%):"},
                                                       {"cpu_seconds", "Server CPU (s):"}};
  for (const auto& [name, label] : facts) {
    if (const auto value = number(server, name)) out += line(label, cents(value));
  }
  if (const std::string note = text(server, "limit_note"); !note.empty()) out += "  MBU or MFU: " + note + "\n";
  if (noise.is_object()) out += line("Machine:", text(noise, "verdict"));
  for (const Json& reason : member(noise, "reasons")) {
    if (reason.is_string()) out += "  " + reason.get<std::string>() + "\n";
  }
  return out;
}

struct CauseLabel {
  const char *name, *label;
};
constexpr CauseLabel kCauses[] = {{"queue", "Waiting in the queue (%):"},
                                  {"adapter", "Waiting for adapters (%):"},
                                  {"prefill", "Prefill (%):"},
                                  {"prefill_shared", "Prefill, for other requests' tokens (%):"},
                                  {"held", "Held: the steps went to others (%):"},
                                  {"decode", "Decode (%):"},
                                  {"decode_batch", "Decode, for other answers (%):"},
                                  {"decode_prefill", "Decode, for other prompts (%):"},
                                  {"preempted", "Preempted (%):"},
                                  {"recompute", "Computed again (%):"},
                                  {"paused", "Paused: the client did not read (%):"}};

// Of all answers together, as the server said with each.
std::string time_block(const Json& report) {
  std::map<std::string, double> ms;
  double whole = 0.0;
  for (const Json& request : member(report, "requests")) {
    if (member(request, "warmup") == true) continue;
    for (const auto& [name, value] : member(request, "causes").items()) {
      if (!value.is_number()) continue;
      ms[name] += value.get<double>();
      whole += value.get<double>();
    }
  }
  const std::string title = ruled("Where the Time Goes", '-');
  if (!(whole > 0.0)) {
    const std::string server = text(member(report, "target"), "server");
    return title + fmt::format("Not known: {} does not say.\n", server.empty() ? "the server" : server);
  }
  std::string out = title;
  for (const auto& [name, label] : kCauses) {
    if (const auto found = ms.find(name); found != ms.end()) out += line(label, cents(100.0 * found->second / whole));
  }
  return out;
}

constexpr std::size_t kModelLines = 20;

// The models and adapters of the workload, those requested most often first.
std::string models_block(const Json& report) {
  const Json& models = member(report, "models");
  if (!models.is_array() || models.empty()) return {};
  std::string out = ruled("Models and Adapters", '-');
  out += fmt::format("{:<22} {:>8} {:>8} {:>8} {:>6} {:>7}\n", "", "requests", "med TTFT", "P99 TTFT", "waited",
                     "wait ms");
  for (std::size_t i = 0; i < std::min(models.size(), kModelLines); ++i) {
    const Json& model = models[i];
    const double requests = number(model, "completed").value_or(0.0) + number(model, "failed").value_or(0.0);
    out += fmt::format("{:<22.22} {:>8.0f} {:>8} {:>8} {:>6} {:>7}\n", text(model, "model"), requests,
                       cents(number(model, "median_ttft_ms")), cents(number(model, "p99_ttft_ms")),
                       whole(number(model, "waited")), cents(number(model, "mean_wait_ms")));
  }
  if (models.size() > kModelLines) out += fmt::format("and {} more\n", models.size() - kModelLines);
  return out;
}

}  // namespace

std::string summary_text(const Json& report) {
  std::string out = ruled(" Serving Benchmark Result ", '=') + throughput_block(report);
  for (const Latency& latency : kLatencyBlocks) out += latency_block(report, latency);
  return out + models_block(report) + time_block(report) + goodput_block(report) + machine_block(report) +
         ruled("", '=');
}

}  // namespace millrace::loadtest::report

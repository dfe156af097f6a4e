#include "loadtest/report/markdown.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "loadtest/report/number_text.h"

namespace millrace::loadtest::report {
namespace {

std::string cell(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '|' ? std::string("\\|") : c == '\n' || c == '\r' ? " " : std::string(1, c);
  return out;
}

// The first column is of texts, the others of numbers.
class Table {
 public:
  explicit Table(const std::vector<std::string>& header) {
    line(header);
    for (std::size_t i = 0; i < header.size(); ++i) text_ += i == 0 ? "|---|" : "---:|";
    text_ += '\n';
  }
  void line(const std::vector<std::string>& cells) {
    text_ += "|";
    for (const std::string& text : cells) text_ += " " + cell(text) + " |";
    text_ += '\n';
  }
  std::string text() && { return std::move(text_) + "\n"; }

 private:
  std::string text_;
};

std::string with_unit(const std::string& label, std::string_view unit) {
  return unit.empty() ? label : fmt::format("{} ({})", label, unit);
}

std::string metric_with_unit(std::string_view metric) { return with_unit(metric_label(metric), unit_of(metric)); }

std::string slo_text(const Json& slo) {
  std::string out;
  for (const auto& [name, value] : slo.items()) {
    if (!value.is_number()) continue;
    out += fmt::format("{}{} {} ms", out.empty() ? "" : ", ", name.substr(0, name.find("_ms")),
                       number_text(value.get<double>()));
  }
  return out.empty() ? "any" : out;
}

std::string noise_text(const Json& noise) {
  if (!noise.is_object()) return "";
  std::string out = fmt::format("Machine: {}.", text(noise, "verdict"));
  for (const Json& reason : member(noise, "reasons")) {
    if (reason.is_string()) out += " " + reason.get<std::string>();
  }
  return out + "\n\n";
}

std::string goodput_table(const Json& goodput) {
  if (goodput.empty()) return "";
  Table table({"SLO", "Share", "req/s", "tok/s"});
  for (const Json& one : goodput) {
    table.line({slo_text(member(one, "slo")), interval_text(estimate(one, "share")),
                number_text(number(one, "requests_s")), number_text(number(one, "tokens_s"))});
  }
  return std::move(table).text();
}

std::string serve_markdown(const Json& report) {
  std::string out =
      fmt::format("{} of {} requests in {} s, {} output tokens.\n\n", number_text(number(report, "completed")),
                  number_text(number(report, "num_prompts")), number_text(number(report, "duration")),
                  number_text(number(report, "total_output_tokens")));
  Table throughput({"Throughput", "a second [95 %]"});
  for (const char* metric : {"request_throughput", "output_throughput", "total_token_throughput"}) {
    throughput.line({metric_label(metric), interval_text(estimate(member(report, "estimates"), metric))});
  }
  out += std::move(throughput).text();
  Table latency({"Latency (ms)", "Mean", "Median [95 %]", "P90", "P95", "P99 [95 %]"});
  const std::pair<const char*, const char*> latencies[] = {{"ttft", "Time to first token"},
                                                           {"tpot", "Time per output token"},
                                                           {"itl", "Gap between tokens"},
                                                           {"e2el", "Whole request"}};
  for (const auto& [name, label] : latencies) {
    const auto of = [&](const char* statistic) { return fmt::format("{}_{}_ms", statistic, name); };
    latency.line({label, number_text(number(report, of("mean"))),
                  interval_text(estimate(member(report, "estimates"), of("median"))),
                  number_text(number(report, of("p90"))), number_text(number(report, of("p95"))),
                  interval_text(estimate(member(report, "estimates"), of("p99")))});
  }
  return out + std::move(latency).text() + goodput_table(member(report, "goodput")) +
         noise_text(member(report, "noise"));
}

// The metrics that any point of a series has, in their order.
std::vector<std::string> metrics_of(const Json& points) {
  std::vector<std::string> metrics;
  for (const Json& point : points) {
    for (const auto& [name, value] : member(point, "metrics").items()) {
      if (std::find(metrics.begin(), metrics.end(), name) == metrics.end()) metrics.push_back(name);
    }
  }
  return metrics;
}

std::string sweep_markdown(const Json& report) {
  std::string out;
  const Json& axis = member(report, "axis");
  for (const Json& series : member(report, "series")) {
    const Json& points = member(series, "points");
    const std::vector<std::string> metrics = metrics_of(points);
    out += fmt::format("### {}\n\n", text(series, "label"));
    std::vector<std::string> header = {with_unit(text(axis, "label"), text(axis, "unit"))};
    for (const std::string& metric : metrics) header.push_back(metric_with_unit(metric));
    Table table(header);
    for (const Json& point : points) {
      std::vector<std::string> cells = {number_text(number(point, "x"))};
      for (const std::string& metric : metrics)
        cells.push_back(interval_text(estimate(member(point, "metrics"), metric)));
      table.line(cells);
    }
    out += std::move(table).text();
  }
  for (const Json& knee : member(report, "knee")) {
    out +=
        fmt::format("Knee of {}: {}. {}\n\n", text(knee, "label"), number_text(number(knee, "x")), text(knee, "why"));
  }
  if (const Json& found = member(report, "max_goodput"); !found.empty()) {
    Table table({"Series", "SLO", "Share wanted", "Highest rate (req/s)"});
    for (const Json& one : found) {
      table.line({text(one, "label"), slo_text(member(one, "slo")), number_text(number(one, "wanted_share")),
                  interval_text(estimate(one, "rate"))});
    }
    out += std::move(table).text();
  }
  return out;
}

std::string percent_text(std::optional<double> share) {
  return share ? number_text(*share * 100.0) + " %" : number_text(share);
}

std::string compare_markdown(const Json& report) {
  const Json& sides = member(report, "sides");
  const auto side = [&](std::size_t i) {
    return sides.is_array() && sides.size() > i ? text(sides[i], "name") : std::string(1, static_cast<char>('A' + i));
  };
  std::string out = fmt::format("**{}** over {} rounds; changes below {} % are equal.\n\n", text(report, "verdict"),
                                member(report, "rounds").size(), number_text(number(report, "threshold_percent")));
  if (const std::string remark = text(report, "remark"); !remark.empty()) out += remark + ".\n\n";
  Table table({"Metric", "A: " + side(0), "B: " + side(1), "B / A [95 %]", "Noise", "Verdict"});
  for (const Json& verdict : member(report, "verdicts")) {
    table.line({with_unit(metric_label(text(verdict, "metric")), text(verdict, "unit")),
                number_text(number(verdict, "a")), number_text(number(verdict, "b")),
                interval_text(estimate(verdict, "ratio")), percent_text(number(verdict, "noise_ratio")),
                text(verdict, "verdict")});
  }
  return out + std::move(table).text();
}

std::string peers_markdown(const Json& report) {
  std::string out;
  for (const Json& result : member(report, "results")) {
    out += fmt::format("### {}: {}\n\n", text(result, "workload"), text(result, "peer"));
    Table table({"Metric", "millrace / peer [95 %]"});
    for (const auto& [metric, ratio] : member(result, "ratios").items()) {
      table.line({metric_label(metric), interval_text(estimate(member(result, "ratios"), metric))});
    }
    out += std::move(table).text();
  }
  return out;
}

std::string heading(const Json& report, std::string_view kind) {
  const std::string model = text(report, "model_id");
  const std::string processor = text(member(report, "machine"), "processor");
  std::string out = fmt::format("## millrace bench {}{}\n\n", kind, model.empty() ? "" : ": " + model);
  if (!processor.empty()) out += fmt::format("Client on {}, {}.\n\n", processor, text(report, "date"));
  return out;
}

}  // namespace

std::string markdown_of(const Json& report) {
  const std::string schema = text(report, "schema");
  if (schema == "millrace.bench.serve") return heading(report, "serve") + serve_markdown(report);
  if (schema == "millrace.bench.sweep") return heading(report, "sweep") + sweep_markdown(report);
  if (schema == "millrace.bench.compare") return heading(report, "compare") + compare_markdown(report);
  if (schema == "millrace.bench.peers") return heading(report, "peers") + peers_markdown(report);
  return "";
}

}  // namespace millrace::loadtest::report

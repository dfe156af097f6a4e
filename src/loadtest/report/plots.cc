#include "loadtest/report/plots.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "loadtest/report/line_plot.h"
#include "loadtest/report/number_text.h"
#include "loadtest/report/row_plot.h"

namespace millrace::loadtest::report {
namespace {

constexpr std::size_t kSlices = 60;

std::string file_name(const std::string& title) {
  std::string name;
  for (const char c : title) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (!name.empty() && name.back() != '-') {
      name += '-';
    }
  }
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "plot" : name;
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& value : list) {
    if (value.is_number()) out.push_back(value.get<double>());
  }
  return out;
}

const Json& entry(const Json& list, std::size_t i) {
  static const Json kNone;
  return list.is_array() && i < list.size() ? list[i] : kNone;
}

Axis::Scale scale_of(const Json& object) {
  return text(object, "scale") == "log" ? Axis::Scale::kLog : Axis::Scale::kLinear;
}

// What vLLM's lists say of one request that was good.
struct Answer {
  double start = 0.0, ttft = 0.0;
  std::vector<double> gaps;
  double tokens = 0.0;
  double latency() const {
    double sum = ttft;
    for (const double gap : gaps) sum += gap;
    return sum;
  }
};

std::vector<Answer> answers_of(const Json& report) {
  std::vector<Answer> answers;
  const Json &starts = member(report, "start_times"), &ttfts = member(report, "ttfts");
  const Json &errors = member(report, "errors"), &tokens = member(report, "output_lens"),
             &gaps = member(report, "itls");
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const Json &start = entry(starts, i), &ttft = entry(ttfts, i), &count = entry(tokens, i);
    const bool failed = entry(errors, i).is_string() && entry(errors, i) != "";
    if (failed || !start.is_number() || !ttft.is_number() || !count.is_number()) continue;
    answers.push_back({start.get<double>(), ttft.get<double>(), numbers(entry(gaps, i)), count.get<double>()});
  }
  return answers;
}

std::string ecdf_svg(const std::string& title, const std::vector<double>& ms) {
  const auto [low, high] = std::minmax_element(ms.begin(), ms.end());
  const bool log = *low > 0.0 && *high / *low > 20;
  const auto scale = log ? Axis::Scale::kLog : Axis::Scale::kLinear;
  return svg_of(LinePlot{
      .title = title, .x_label = "ms", .y_label = "Share of requests", .x_scale = scale, .lines = {ecdf_line("", ms)}});
}

std::string throughput_svg(const std::vector<Answer>& answers) {
  double begin = INFINITY, end = -INFINITY;
  for (const Answer& answer : answers) {
    begin = std::min(begin, answer.start);
    end = std::max(end, answer.start + answer.latency());
  }
  const double slice = std::max(end - begin, 1e-9) / kSlices;
  std::vector<double> tokens(kSlices);
  for (const Answer& answer : answers) {
    double at = answer.start + answer.ttft;
    const double share = answer.tokens / static_cast<double>(answer.gaps.size() + 1);
    for (std::size_t i = 0; i <= answer.gaps.size(); ++i) {
      tokens[static_cast<std::size_t>(std::clamp((at - begin) / slice, 0.0, kSlices - 1.0))] += share;
      if (i < answer.gaps.size()) at += answer.gaps[i];
    }
  }
  PlotLine line;
  for (std::size_t i = 0; i < kSlices; ++i) {
    const double x = begin + slice * static_cast<double>(i), y = tokens[i] / slice;
    line.points.push_back({x, y});
    line.points.push_back({x + slice, y});
  }
  return svg_of(LinePlot{
      .title = "Output tokens a second over the run", .x_label = "s", .y_label = "tok/s", .lines = {std::move(line)}});
}

std::vector<Plot> serve_plots(const Json& report) {
  const std::vector<Answer> answers = answers_of(report);
  if (answers.empty()) return {};
  std::vector<double> ttft, tpot, latency;
  for (const Answer& answer : answers) {
    ttft.push_back(answer.ttft * 1000);
    latency.push_back(answer.latency() * 1000);
    if (answer.tokens > 1) tpot.push_back((answer.latency() - answer.ttft) * 1000 / (answer.tokens - 1));
  }
  std::vector<Plot> plots = {{"ttft", ecdf_svg("Time to first token", ttft)},
                             {"latency", ecdf_svg("Latency of whole requests", latency)},
                             {"throughput", throughput_svg(answers)}};
  if (!tpot.empty()) plots.insert(plots.begin() + 1, {"tpot", ecdf_svg("Time per output token", tpot)});
  return plots;
}

std::vector<Plot> sweep_plots(const Json& report) {
  std::vector<Plot> plots;
  const Json &axis = member(report, "axis"), &all_series = member(report, "series");
  std::vector<PlotMark> knees;
  for (const Json& knee : member(report, "knee")) {
    if (const auto x = number(knee, "x")) knees.push_back({*x, fmt::format("knee {}", number_text(*x))});
  }
  const std::string unit = text(axis, "unit");
  for (const Json& wanted : member(report, "plots")) {
    LinePlot plot{.title = text(wanted, "title"),
                  .x_label = text(axis, "label") + (unit.empty() ? "" : " (" + unit + ")"),
                  .y_label = text(wanted, "unit"),
                  .x_scale = scale_of(axis),
                  .y_scale = scale_of(wanted),
                  .marks = knees};
    const Json& metrics = member(wanted, "metrics");
    for (const Json& series : all_series) {
      for (const Json& metric : metrics) {
        if (!metric.is_string()) continue;
        const std::string label = text(series, "label"), name = metric.get<std::string>();
        PlotLine line{.markers = true};
        line.label = metrics.size() < 2      ? label
                     : all_series.size() < 2 ? metric_label(name)
                                             : label + ", " + metric_label(name);
        for (const Json& point : member(series, "points")) {
          const auto x = number(point, "x");
          const auto y = estimate(member(point, "metrics"), name);
          if (x && y) line.points.push_back({*x, y->value, y->low, y->high});
        }
        if (!line.points.empty()) plot.lines.push_back(std::move(line));
      }
    }
    if (!plot.lines.empty()) plots.push_back({file_name(plot.title), svg_of(plot)});
  }
  return plots;
}

std::vector<Plot> compare_plots(const Json& report) {
  RowPlot plot{.title = fmt::format("B / A: {}", text(report, "verdict")), .x_label = "ratio with its 95 % interval"};
  plot.reference = 1.0;
  for (const Json& one : member(report, "verdicts")) {
    const auto ratio = estimate(one, "ratio");
    if (!ratio) continue;
    const std::string verdict = text(one, "verdict");
    const std::size_t colour = verdict == "B better" ? 2 : verdict == "B worse" ? 1 : verdict == "equal" ? 0 : 7;
    plot.rows.push_back({.label = metric_label(text(one, "metric")),
                         .note = verdict,
                         .value = ratio->value,
                         .low = ratio->low,
                         .high = ratio->high,
                         .series = colour,
                         .hollow = colour == 7});
  }
  if (plot.rows.empty()) return {};
  return {{"ratios", svg_of(plot)}};
}

std::vector<Plot> peers_plots(const Json& report) {
  std::vector<std::string> workloads, peers;
  const auto place = [](std::vector<std::string>& names, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) names.push_back(name);
    return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
  };
  std::vector<RowPlot> row_plots;
  for (const Json& result : member(report, "results")) {
    const std::string peer = text(result, "peer"), workload = text(result, "workload");
    const std::size_t colour = place(peers, peer), at = place(workloads, workload);
    if (at == row_plots.size()) {
      row_plots.push_back({.title = workload, .x_label = "millrace / peer", .bars = true});
      row_plots.back().reference = 1.0;
    }
    for (const auto& [metric, value] : member(result, "ratios").items()) {
      const auto ratio = estimate(member(result, "ratios"), metric);
      if (!ratio) continue;
      row_plots[at].rows.push_back({.label = peer + ": " + metric_label(metric),
                                    .note = number_text(ratio->value),
                                    .value = ratio->value,
                                    .low = ratio->low,
                                    .high = ratio->high,
                                    .series = colour});
    }
  }
  std::vector<Plot> plots;
  for (const RowPlot& plot : row_plots) {
    if (!plot.rows.empty()) plots.push_back({file_name(plot.title), svg_of(plot)});
  }
  return plots;
}

// Two titles may have one name: the later ones get a number.
std::vector<Plot> with_own_names(std::vector<Plot> plots) {
  for (std::size_t i = 0; i < plots.size(); ++i) {
    const std::string name = plots[i].name;
    const auto taken = [&](const Plot& before) { return before.name == plots[i].name; };
    for (int next = 2; std::any_of(plots.begin(), plots.begin() + static_cast<std::ptrdiff_t>(i), taken); ++next) {
      plots[i].name = fmt::format("{}-{}", name, next);
    }
  }
  return plots;
}

}  // namespace

std::vector<Plot> plots_of(const Json& report) {
  const std::string schema = text(report, "schema");
  if (schema == "millrace.bench.serve") return serve_plots(report);
  if (schema == "millrace.bench.sweep") return with_own_names(sweep_plots(report));
  if (schema == "millrace.bench.compare") return compare_plots(report);
  if (schema == "millrace.bench.peers") return with_own_names(peers_plots(report));
  return {};
}

}  // namespace millrace::loadtest::report

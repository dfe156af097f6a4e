#include "loadtest/report/plots.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"
#include "loadtest/report/line_plot.h"
#include "loadtest/report/row_plot.h"
#include "loadtest/report/write_reports.h"

namespace millrace::loadtest::report {
namespace {

std::vector<std::string> labels(const Axis& axis, int most) {
  std::vector<std::string> out;
  for (const Tick& tick : ticks_of(axis, most)) out.push_back(tick.label);
  return out;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(AxisTicks, AreRoundAndWithinTheAxis) {
  EXPECT_EQ(labels(axis_for({3.0, 97.0}, Axis::Scale::kLinear), 6),
            (std::vector<std::string>{"0", "20", "40", "60", "80", "100"}));
  EXPECT_EQ(labels(axis_for({-1.0, 1.0}, Axis::Scale::kLinear), 5),
            (std::vector<std::string>{"-1", "-0.5", "0", "0.5", "1"}));
  EXPECT_EQ(labels(axis_for({3.0, 150.0}, Axis::Scale::kLog), 9),
            (std::vector<std::string>{"2", "5", "10", "20", "50", "100", "200"}));
  EXPECT_EQ(labels(axis_for({1e-3, 1e6}, Axis::Scale::kLog), 5),
            (std::vector<std::string>{"0.01", "1", "100", "10k", "1M"}));
}

TEST(AxisTicks, AxesHoldTheirValuesHoweverStrange) {
  const Axis nothing = axis_for({kNoValue, INFINITY}, Axis::Scale::kLinear);
  EXPECT_LT(nothing.low, nothing.high);
  const Axis logarithmic = axis_for({0.0, -5.0, 7.0}, Axis::Scale::kLog);
  EXPECT_LE(logarithmic.low, 7.0);
  EXPECT_GE(logarithmic.high, 7.0);
  EXPECT_LT(logarithmic.low, logarithmic.high);
  const Axis one = axis_for({10.0}, Axis::Scale::kLog);
  EXPECT_LT(one.low, one.high);
  for (const double value : {1e-12, 0.03, 1.0, 99.9, 1e12}) {
    for (const auto scale : {Axis::Scale::kLinear, Axis::Scale::kLog}) {
      const Axis axis = axis_for({value, value * 3}, scale);
      EXPECT_LE(axis.low, value);
      EXPECT_GE(axis.high, value * 3 * (1 - 1e-9));
      EXPECT_GE(ticks_of(axis, 6).size(), 2u);
      EXPECT_LE(ticks_of(axis, 6).size(), 8u);
    }
  }
}

TEST(LinePlot, DrawsALineABandAndMarkersAndBreaksWhereThereIsNoValue) {
  const LinePlot plot{.title = "a < b & \"c\"",
                      .x_label = "x",
                      .y_label = "y",
                      .lines = {{.label = "one",
                                 .points = {{1, 2, 1, 3}, {2, 3, 2, 4}, {3, kNoValue}, {4, 1, 1, 2}, {5, 2, 1, 3}},
                                 .markers = true}},
                      .marks = {{2.5, "knee"}}};
  const std::string svg = svg_of(plot);
  EXPECT_NE(svg.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(count(svg, "s0 line\"/>\n<"), 3u);  // two runs of points, and the legend
  EXPECT_EQ(count(svg, "class=\"s0 band\""), 2u);
  EXPECT_EQ(count(svg, "<circle"), 4u);
  EXPECT_EQ(count(svg, "class=\"mark\""), 1u);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
  EXPECT_NE(svg.find("prefers-color-scheme:dark"), std::string::npos);
}

TEST(LinePlot, PointsLieWhereTheirValuesAre) {
  const std::string svg = svg_of(LinePlot{.lines = {{.points = {{0, 0}, {10, 100}}}}});
  EXPECT_NE(svg.find("M64.0 348.0L700.0 48.0\" class=\"s0 line\""), std::string::npos) << svg;
  const std::string log =
      svg_of(LinePlot{.y_scale = Axis::Scale::kLog, .lines = {{.points = {{0, 1}, {5, 10}, {7, 0}, {10, 100}}}}});
  EXPECT_NE(log.find("M64.0 348.0L382.0 198.0\""), std::string::npos) << log;  // 0 has no place there
}

TEST(LinePlot, AnEcdfStepsFromZeroToOne) {
  std::vector<double> values;
  for (int i = 1000; i > 0; --i) values.push_back(i);
  const PlotLine line = ecdf_line("", values);
  EXPECT_EQ(line.points.front().y, 0.0);
  EXPECT_EQ(line.points.back().y, 1.0);
  EXPECT_EQ(line.points.back().x, 1000.0);
  EXPECT_LE(line.points.size(), 800u);
  for (const PlotLine::Point& point : line.points) EXPECT_NEAR(point.y, point.x / 1000, 0.0031);
  EXPECT_TRUE(ecdf_line("", {}).points.empty());
}

TEST(RowPlot, HasADotAndAWhiskerForEachRow) {
  RowPlot plot{.title = "t", .rows = {{"a", "n", 1.1, 1.0, 1.2}, {"b", "", 0.9, kNoValue, kNoValue, 1, true}}};
  plot.reference = 1.0;
  const std::string dots = svg_of(plot);
  EXPECT_EQ(count(dots, "<circle"), 2u);
  EXPECT_EQ(count(dots, "s0 whisker"), 1u);
  EXPECT_EQ(count(dots, "s1 hollow"), 1u);
  plot.bars = true;
  const std::string bars = svg_of(plot);
  EXPECT_EQ(count(bars, "<circle"), 0u);
  EXPECT_EQ(count(bars, " bar\""), 2u);
  EXPECT_EQ(count(svg_of(RowPlot{}), "<circle"), 0u);
}

std::vector<std::string> names(const Json& report) {
  std::vector<std::string> out;
  for (const Plot& plot : plots_of(report)) out.push_back(plot.name);
  return out;
}

TEST(Plots, EachKindOfReportHasItsOwn) {
  EXPECT_EQ(names(Json::parse(R"({"schema": "millrace.bench.serve", "start_times": [0, 1, 2], "ttfts": [0.1, 0.2, 0],
    "itls": [[0.1], [0.1], []], "output_lens": [2, 2, 0], "errors": ["", "", "cut"]})")),
            (std::vector<std::string>{"ttft", "tpot", "latency", "throughput"}));
  const Json sweep = Json::parse(R"({"schema": "millrace.bench.sweep", "axis": {"label": "Requests", "scale": "log"},
    "series": [{"label": "a", "points": [{"x": 1, "metrics": {"m": {"value": 2, "low": 1, "high": 3}}}]}],
    "knee": [{"label": "a", "x": 1.5, "why": "w"}],
    "plots": [{"title": "Time: first!", "metrics": ["m"]}, {"title": "Time first", "metrics": ["m"]}, {"title": "None", "metrics": ["n"]}]})");
  EXPECT_EQ(names(sweep), (std::vector<std::string>{"time-first", "time-first-2"}));
  EXPECT_NE(plots_of(sweep)[0].svg.find("knee 1.5"), std::string::npos);
  EXPECT_EQ(names(Json::parse(
                R"({"schema": "millrace.bench.compare", "verdicts": [{"metric": "m", "ratio": {"value": 1}}]})")),
            (std::vector<std::string>{"ratios"}));
  EXPECT_EQ(names(Json::parse(R"({"schema": "millrace.bench.peers", "results": [
    {"peer": "p", "workload": "Chat", "ratios": {"m": {"value": 2}}}, {"peer": "q", "workload": "Chat", "ratios": {"m": {"value": 2}}},
    {"peer": "p", "workload": "../Long", "ratios": {"m": {"value": 2}}}]})")),
            (std::vector<std::string>{"chat", "long"}));
  for (const char* schema : {"serve", "sweep", "compare", "peers", "else"}) {
    Json odd = Json::parse(
        R"({"start_times": [0, "x", 1], "ttfts": [null, 1], "plots": [1, {"metrics": [1, "m"]}], "series": [2],
      "verdicts": [3], "results": [4, {"ratios": 5}]})");
    odd["schema"] = std::string("millrace.bench.") + schema;
    EXPECT_TRUE(names(odd).empty()) << schema;
  }
}

TEST(WriteReports, WritesEachFormBesideTheReportAndReplacesThem) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "millrace_write_reports";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Json report = Json::parse(R"({"schema": "millrace.bench.compare", "verdict": "no regression",
    "rounds": [{"order": "AB", "a": {"m": 1}, "b": {"m": 1}, "noise": "quiet"}], "verdicts": [{"metric": "m", "ratio": {"value": 1}}]})");
  const std::string stem = (folder / "run").string();
  const std::vector<std::string> expected = {stem + ".ratios.svg", stem + ".csv", stem + ".md"};
  EXPECT_EQ(write_beside(report, stem + ".html"), expected);
  EXPECT_EQ(write_beside(report, stem), expected);
  std::ifstream csv(stem + ".csv");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(csv), {}), "round,order,noise,metric,a,b\n1,AB,quiet,m,1,1\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
  EXPECT_THROW(write_beside(report, (folder / "none" / "run").string()), LoadError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millrace::loadtest::report

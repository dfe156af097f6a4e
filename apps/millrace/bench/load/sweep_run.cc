#include "bench/load/sweep_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "bench/load/live_line.h"
#include "bench/load/run_report.h"
#include "loadtest/knee.h"
#include "loadtest/report/json.h"
#include "metrics/statistics.h"

namespace millrace::bench {
namespace {

constexpr const char* kKneeMetric = "median_ttft_ms";
constexpr double kPointSeconds = 30.0;  // where the user says neither how long nor how many

std::string file_part(const std::string& text) {
  std::string part;
  for (const char c : text) part += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' ? c : '_';
  return part;
}

// The command line without what changes nothing about the points.
std::string key_of_command() {
  std::string key;
  for (const std::string& word : command_line()) {
    if (word == "--resume" || word == "--no-progress" || word == "--disable-tqdm") continue;
    key += word + '\n';
  }
  return key;
}

// What a sweep keeps of a run: not what grows with the requests, or hours of points would fill the memory.
Json small_report(const LoadFlags& load, const MeasuredRun& measured) {
  Json report = run_report(load, measured);
  for (const char* large : {"itls", "input_lens", "output_lens", "ttfts", "start_times", "errors", "requests", "steps",
                            "samples", "itl_heat"}) {
    report.erase(large);
  }
  return report;
}

// Several runs of one point: the median of each metric between the least and the greatest; one run: its own interval.
Json merged(const std::vector<Json>& runs, const std::string& name) {
  std::vector<double> values;
  for (const Json& run : runs) {
    const Json& estimates = run["estimates"];
    if (estimates.contains(name) && !estimates[name].is_null()) values.push_back(estimates[name]["value"]);
  }
  if (values.empty()) return nullptr;
  if (runs.size() == 1) return runs.front()["estimates"][name];
  const metrics::Spread spread = metrics::spread_of(values);
  return {{"value", spread.median}, {"low", spread.min}, {"high", spread.max}};
}

Json merged_fact(const std::vector<Json>& runs, const char* name) {
  std::vector<double> values;
  for (const Json& run : runs) {
    const Json& server = run["server"];
    if (server.is_object() && server.contains(name) && server[name].is_number()) values.push_back(server[name]);
  }
  if (values.empty()) return nullptr;
  const metrics::Spread spread = metrics::spread_of(values);
  return {{"value", spread.median}, {"low", spread.min}, {"high", spread.max}};
}

}  // namespace

SweepRun::SweepRun(const SweepFlags& flags)
    : flags_(flags), axis_(find_sweep_axis(flags.axis)), key_(key_of_command()) {
  if (axis_ == nullptr) {
    std::string names;
    for (const SweepAxis& axis : all_sweep_axes()) names += (names.empty() ? "" : ", ") + std::string(axis.name);
    throw_load_error(ErrorCode::kInvalidArgument, "axis", "axis: '{}' is none of {}", flags.axis, names);
  }
  if (flags_.values.empty()) flags_.values = axis_->values;
  for (const double value : flags_.values) {
    if (!(value > 0.0) || value > 1e7) {
      throw_load_error(ErrorCode::kInvalidArgument, "values", "values: {} is not above 0 and up to 1e7", value);
    }
  }
  std::vector<SweepSeries> series = parse_series(flags.series);
  if (!series.empty() && flags.system.spawn.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "series", "series: other arguments of a server need --spawn");
  }
  if (series.empty()) series.push_back({flags.output.label.empty() ? "server" : flags.output.label, ""});
  for (SweepSeries& line : series) {
    Line& made = lines_.emplace_back(Line{.series = std::move(line), .points = {}, .max_goodput = Json::array()});
    for (const double x : flags_.values) made.points.push_back({.x = x, .runs = {}});
  }
  if (flags_.point_seconds && !axis_->timed && flags_.max_goodput == 0.0) {
    throw_load_error(
        ErrorCode::kInvalidArgument, "point-seconds",
        "point-seconds is {:g}: --axis {} has no rate that it could bound; --num-prompts or --duration does",
        *flags_.point_seconds, axis_->name);
  }
  if (flags_.max_goodput > 0.0 && flags_.load.slos().empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "max-goodput",
                     "max-goodput: the search needs --goodput to say what is good");
  }
  const std::string json = flags_.output.json_path("sweep");
  if (flags_.resume && (json.empty() || json == "-" || flags_.output.output.empty())) {
    throw_load_error(ErrorCode::kInvalidArgument, "resume",
                     "resume: the points of a sweep are kept beside --output FILE");
  }
}

void SweepRun::measure() {
  for (int run = 0; run < flags_.runs && !stopped_; ++run) {
    for (Line& line : lines_) {
      measure_line(line, run);
      stopped_ = stopped_ || LiveLine::interrupted();
      if (stopped_) return;
    }
  }
}

LoadFlags SweepRun::load_at(const SweepAxis& axis, double x, std::uint64_t run) const {
  LoadFlags load = flags_.load;
  axis.apply(load, x);
  load.prompts = requests_at(axis, x);
  load.seed += run;
  return load;
}

std::int64_t SweepRun::requests_at(const SweepAxis& axis, double x) const {
  const LoadFlags& load = flags_.load;
  if (axis.timed && flags_.point_seconds && load.prompts_given) {
    return std::min(load.prompts, std::max<std::int64_t>(1, std::llround(x * *flags_.point_seconds)));
  }
  if (load.prompts_given || axis.requests == nullptr) return load.prompts;
  return axis.requests(x, flags_.point_seconds.value_or(kPointSeconds));
}

std::string SweepRun::size_rule() const {
  const std::int64_t prompts = flags_.load.prompts;
  const bool timed = axis_->timed && (flags_.point_seconds || !flags_.load.prompts_given);
  if (timed && flags_.load.prompts_given) {
    return fmt::format(
        "{} requests (--num-prompts) or as many as are due in {:g} s (--point-seconds), whichever is less", prompts,
        *flags_.point_seconds);
  }
  if (timed) {
    return fmt::format("as many requests as are due in {:g} s (--point-seconds), at least 20",
                       flags_.point_seconds.value_or(kPointSeconds));
  }
  if (flags_.load.prompts_given) return fmt::format("{} requests (--num-prompts)", prompts);
  if (axis_->requests != nullptr) return "4 requests for each of those in flight, at least 8";
  return fmt::format("{} requests (the default of --num-prompts)", prompts);
}

void SweepRun::measure_line(Line& line, int run) {
  SystemUnderTestFlags sut_flags = flags_.system;
  if (!line.series.serve_args.empty()) sut_flags.serve_args += " " + line.series.serve_args;
  std::optional<SystemUnderTest> system;  // started when the first point is to be measured
  LiveLine live(flags_.output.quiet ? "" : line.series.label);
  const auto started = [&]() -> SystemUnderTest& {
    if (!system) system.emplace(sut_flags, flags_.load.model, LiveLine::interrupted);
    return *system;
  };
  auto next_run = static_cast<std::uint64_t>(run) * line.points.size();
  for (Point& point : line.points) {
    const LoadFlags load = load_at(*axis_, point.x, next_run++);
    const std::string file = point_file(line, point.x, run);
    if (auto before = measured_before(file)) {
      point.runs.push_back(*std::move(before));
      continue;
    }
    live.name(fmt::format("{} {} {:g}", line.series.label, axis_->name, point.x));
    const MeasuredRun measured = started().measure(load, live.hooks());
    point.runs.push_back(small_report(load, measured));
    if (measured.run.stopped) {
      stopped_ = true;
      return;
    }
    keep(file, point.runs.back());
  }
  if (flags_.max_goodput > 0.0 && run == 0) search_max_goodput(line, started());
}

void SweepRun::search_max_goodput(Line& line, SystemUnderTest& system) {
  const std::vector<loadtest::Slo> slos = flags_.load.slos();
  LiveLine live(flags_.output.quiet ? "" : line.series.label);
  auto next_run = static_cast<std::uint64_t>(flags_.runs) * line.points.size();
  for (const loadtest::Slo& slo : slos) {
    const auto run = [&](double rate) {
      const LoadFlags load = load_at(*find_sweep_axis("request-rate"), rate, next_run++);
      live.name(fmt::format("{} max goodput at {:.3g}/s", line.series.label, rate));
      loadtest::GoodShare share;
      if (LiveLine::interrupted()) return share;
      for (const loadtest::RequestRecord& record : system.measure(load, live.hooks()).run.records) {
        if (!loadtest::counts(record)) continue;
        ++share.all;
        if (loadtest::met(slo, record)) ++share.good;
      }
      return share;
    };
    const loadtest::MaxGoodput found =
        loadtest::find_max_goodput({.first = flags_.values[flags_.values.size() / 2],  // a low rate takes long to try
                                    .highest = flags_.max_rate,
                                    .wanted = flags_.max_goodput},
                                   run);
    Json entry = loadtest::report::json_of(found, slo, flags_.max_goodput);
    entry["label"] = line.series.label;
    entry["objective"] = slo.str();
    line.max_goodput.push_back(entry);
    if (LiveLine::interrupted()) return;
  }
}

Json SweepRun::json_of(const Point& point) const {
  Json metrics = Json::object();
  for (const auto& [name, value] : point.runs.front()["estimates"].items()) metrics[name] = merged(point.runs, name);
  for (const char* name : {"mbu_percent", "mfu_percent", "resident_peak_bytes"}) {
    metrics[name] = merged_fact(point.runs, name);
  }
  bool stopped = false, noisy = false;
  std::int64_t requests = 0;  // that count, of all runs
  for (const Json& run : point.runs) {
    requests += run["num_prompts"].get<std::int64_t>();
    stopped = stopped || run["load"]["stopped"].get<bool>();
    noisy = noisy || run["noise"]["verdict"] != "quiet";
  }
  return {{"x", point.x},
          {"stopped", stopped},
          {"runs", point.runs.size()},
          {"requests", requests},
          {"metrics", metrics},
          {"goodput", point.runs.back()["goodput"]},
          {"noise", noisy ? "noisy" : "quiet"}};
}

Json SweepRun::json_of_knees() const {
  Json knees = Json::array();
  if (!axis_->rises) return nullptr;
  for (const Line& line : lines_) {
    std::vector<loadtest::CurvePoint> curve;
    for (const Point& point : line.points) {
      if (point.runs.empty()) continue;
      const Json value = merged(point.runs, kKneeMetric);
      if (!value.is_null()) curve.push_back({point.x, value["value"].get<double>()});
    }
    if (const auto knee = loadtest::find_knee(curve)) {
      knees.push_back(loadtest::report::json_of(*knee, line.series.label));
    }
  }
  return knees.empty() ? Json(nullptr) : knees;
}

Json SweepRun::json_of_max_goodput() const {
  Json all = Json::array();
  for (const Line& line : lines_) all.insert(all.end(), line.max_goodput.begin(), line.max_goodput.end());
  return all.empty() ? Json(nullptr) : all;
}

Json SweepRun::report() const {
  Json report;
  report["axis"] = {{"name", axis_->name},
                    {"unit", axis_->unit},
                    {"label", axis_->label},
                    {"scale", axis_->logarithmic ? "log" : "linear"}};
  report["point_size"] = size_rule();
  report["series"] = Json::array();
  for (const Line& line : lines_) {
    Json points = Json::array();
    for (const Point& point : line.points) {
      if (!point.runs.empty()) points.push_back(json_of(point));
    }
    report["series"].push_back(
        {{"label", line.series.label}, {"serve_args", line.series.serve_args}, {"points", points}});
  }
  report["plots"] = Json::array();
  for (const SweepAxis::Plot& plot : axis_->plots) {
    report["plots"].push_back({{"title", plot.title},
                               {"metrics", plot.metrics},
                               {"unit", plot.unit},
                               {"scale", plot.logarithmic ? "log" : "linear"}});
  }
  report["knee"] = json_of_knees();
  const Json max_goodput = json_of_max_goodput();
  report["max_goodput"] = max_goodput;
  report["frontier"] = max_goodput;  // base/old_names.h
  return report;
}

std::string SweepRun::point_file(const Line& line, double x, int run) const {
  const std::string& json = flags_.output.output;
  if (json.empty() || json == "-") return "";
  return fmt::format("{}.points/{}-{}-{:g}-{}.json", json, file_part(line.series.label), axis_->name, x, run);
}

std::optional<Json> SweepRun::measured_before(const std::string& file) const {
  if (!flags_.resume || !std::filesystem::exists(file)) return std::nullopt;
  std::ifstream stream(file);
  Json kept = Json::parse(stream, nullptr, false);
  if (kept.is_object() && kept.value("key", "") == key_ && kept.contains("report")) return kept["report"];
  log::warn("{}: is of another command; measured anew", file);
  return std::nullopt;
}

void SweepRun::keep(const std::string& file, const Json& report) const {
  if (file.empty()) return;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(file).parent_path(), ignored);
  write_report({.json = file + ".part"}, {{"key", key_}, {"report", report}});
  std::filesystem::rename(file + ".part", file, ignored);
}

}  // namespace millrace::bench

#include "bench/load/system_under_test.h"

#include <fmt/ranges.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "backend/cpu/probe.h"
#include "base/log.h"
#include "cli.h"
#include "loadtest/watch/process_reading.h"
#include "loadtest/watch/server_watch.h"
#include "loadtest/watch/step_timeline.h"
#include "option_heading.h"

namespace millrace::bench {
namespace {

constexpr double kProbeSeconds = 0.1;
// A server's trace is written by a thread that wakes twice a second.
constexpr std::chrono::milliseconds kTraceDelay{1200};
constexpr std::uint64_t kMaxTrace = std::uint64_t{1} << 30;

}  // namespace

std::string own_path() {
  std::array<char, 4096> path{};
  const ssize_t n = ::readlink("/proc/self/exe", path.data(), path.size());
  return n > 0 ? std::string(path.data(), static_cast<std::size_t>(n)) : "millrace";
}

void SystemUnderTestFlags::declare(CLI::App& app) {
  const app::OptionHeading heading(app, "Server to measure");
  app.add_option("url,--base-url", url, "Server to measure: http://HOST:PORT, https://..., HOST:PORT or unix:PATH");
  app.add_option("--host", host, "Host of the server to measure, used without a URL")->capture_default_str();
  app.add_option("--port", port, "TCP port of the server to measure, used without a URL")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app.add_option("--spawn-command", spawn_command,
                 "Command line of a server to start and measure; {port} is replaced by a free port");
  declare_shared(app);
}

void SystemUnderTestFlags::declare_shared(CLI::App& app) {
  const app::OptionHeading heading(app, "Server to measure");
  app.add_option("--spawn", spawn, "Model to start `millrace serve` with and measure, e.g. 'default'")
      ->type_name("MODEL");
  app.add_option("--serve-args", serve_args,
                 "Additional arguments of the `millrace serve` that --spawn starts, in one string");
  app.add_option("--ready-timeout", ready_seconds, "Max seconds that a started server may take until it is ready")
      ->check(CLI::Range(0.1, 86400.0));
  app.add_option("--api-key", api_key, "API key of the server, sent as a bearer token")->envname("OPENAI_API_KEY");
  app.add_option("--header", headers, "Additional HTTP header of each request, as \"Name: value\"; may be repeated");
  app.add_flag("--insecure", insecure, "Accept any TLS certificate of the server");
  app.add_flag("--no-probe", no_probe,
               "Skip measuring this machine's memory bandwidth before and after; MBU is not reported then");
}

void SystemUnderTestFlags::declare_steps(CLI::App& app) {
  const app::OptionHeading heading(app, "Server to measure");
  app.add_option("--server-trace", server_trace,
                 "Path on this machine of the file that the server writes with --trace-file")
      ->type_name("FILE");
}

SystemUnderTest::SystemUnderTest(const SystemUnderTestFlags& flags, const std::string& wanted_model,
                                 const std::function<bool()>& stop)
    : flags_(flags), trace_(flags.server_trace) {
  target_ = start(stop);
  target_.insecure = flags.insecure;
  if (!flags.api_key.empty()) target_.headers.emplace_back("Authorization", "Bearer " + flags.api_key);
  for (const std::string& header : flags.headers) {
    const std::size_t colon = header.find(':');
    const std::size_t value = colon == std::string::npos ? colon : header.find_first_not_of(' ', colon + 1);
    if (colon == 0 || value == std::string::npos || header.find_first_of("\r\n") != std::string::npos) {
      throw_load_error(ErrorCode::kInvalidArgument, "header", "header is '{}': expected 'Name: value'", header);
    }
    target_.headers.emplace_back(header.substr(0, colon), header.substr(value));
  }
  process_ = spawned_ ? spawned_->pid() : loadtest::find_listener(target_.host, target_.port);
  loadtest::Getter getter(target_);
  auto model = loadtest::read_served_model(getter, wanted_model);
  if (!model && !wanted_model.empty() && model.error().code == ErrorCode::kUnavailable) {
    log::warn("{}; going on with the model as named", model.error().message);
    model_.id = wanted_model;
    return;
  }
  model_ = std::move(model).or_throw();
}

loadtest::Target SystemUnderTest::start(const std::function<bool()>& stop) {
  if (flags_.spawn.empty() && flags_.spawn_command.empty()) {
    return loadtest::parse_target("url",
                                  flags_.url.empty() ? fmt::format("{}:{}", flags_.host, flags_.port) : flags_.url)
        .or_throw();
  }
  if (!flags_.spawn.empty() && !flags_.spawn_command.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "spawn-command",
                     "spawn-command and spawn: one server can be started");
  }
  if (!flags_.url.empty()) {
    throw_load_error(ErrorCode::kInvalidArgument, "url", "url is '{}': a server is started, so none can be named",
                     flags_.url);
  }
  scratch_.emplace();
  std::vector<std::string> argv;
  if (!flags_.spawn.empty()) {
    argv = {flags_.program.empty() ? own_path() : flags_.program,
            "serve",
            flags_.spawn,
            "--port",
            "{port}",
            "--disable-log-requests"};
    if (flags_.steps) {
      if (trace_.empty()) trace_ = scratch_->file("steps.json");
      argv.insert(argv.end(), {"--trace-file", trace_});
    }
    for (std::string& word : loadtest::split_command("serve-args", flags_.serve_args).or_throw()) {
      argv.push_back(std::move(word));
    }
  } else {
    argv = loadtest::split_command("spawn-command", flags_.spawn_command).or_throw();
    if (argv.empty() || flags_.spawn_command.find("{port}") == std::string::npos) {
      throw_load_error(ErrorCode::kInvalidArgument, "spawn-command",
                       "spawn-command is '{}': expected a command with {{port}} in it", flags_.spawn_command);
    }
  }
  spawned_.emplace(
      loadtest::LaunchedServer::Command{
          .argv = argv, .log = scratch_->file("server.log"), .ready_seconds = flags_.ready_seconds},
      stop);
  return spawned_->target();
}

std::vector<std::string> SystemUnderTest::command() const {
  return spawned_ ? spawned_->argv() : std::vector<std::string>();
}

double SystemUnderTest::read_bandwidth() const {
  if (flags_.no_probe || !local()) return 0.0;
  return backend::cpu::measure_read_bandwidth(static_cast<int>(cpu_info().logical_cpus), detect_isa(), kProbeSeconds);
}

void SystemUnderTest::read_steps(MeasuredRun& measured) const {
  if (trace_.empty()) return;
  std::this_thread::sleep_for(kTraceDelay);
  const auto text = read_file(Env::system(), trace_, kMaxTrace);
  auto timeline =
      text ? loadtest::read_step_timeline(*text, measured.run.started, measured.run.seconds, measured.run.records)
           : Result<loadtest::StepTimeline>(text.error());
  if (!timeline) return log::warn("no steps in the report: {}", timeline.error().message);
  measured.steps = std::move(timeline->steps);
  measured.phases = std::move(timeline->phases);
}

loadtest::report::LoadFacts SystemUnderTest::facts_of(const LoadFlags& load, const loadtest::Workload& workload,
                                                      const loadtest::LoadPlan& plan) const {
  loadtest::report::LoadFacts facts;
  facts.backend = load.backend;
  facts.model = model_.id;
  if (!load.unlimited_rate()) facts.request_rate = load.rate();
  facts.burstiness = load.burstiness;
  if (load.max_concurrency > 0) facts.max_concurrency = load.max_concurrency;
  facts.url = target_.url;
  facts.server = model_.server;
  facts.server_version = model_.version;
  facts.spawned = fmt::format("{}", fmt::join(command(), " "));
  facts.closed = load.users > 0;
  facts.workload = load.dataset;
  facts.arrivals = load.arrivals(workload);
  facts.users = load.users;
  facts.sessions = plan.sessions;
  facts.turns = load.dataset == "multi-turn" ? load.turns : 1;
  facts.warmup = plan.warmup;
  facts.think_s = load.think_time;
  facts.seed = load.seed;
  return facts;
}

loadtest::RequestStyle SystemUnderTest::style_of(const LoadFlags& load) const {
  loadtest::RequestStyle style = load.style(model_.id);
  if (!flags_.steps || model_.server != "millrace") return style;
  for (const char* field : {"timings", "explain"}) {
    if (style.extra.find(fmt::format("\"{}\"", field)) != std::string::npos) continue;
    style.extra += fmt::format("{}\"{}\":true", style.extra.empty() ? "" : ",", field);
  }
  return style;
}

MeasuredRun SystemUnderTest::measure(const LoadFlags& load, const loadtest::LoadHooks& hooks) {
  const auto workload = load.workload(model_.vocabulary);
  const loadtest::LoadPlan plan = load.plan(*workload);
  const loadtest::RequestStyle style = style_of(load);
  const std::vector<loadtest::Slo> slos = load.slos();
  MeasuredRun measured;
  measured.load = facts_of(load, *workload, plan);
  const double before = read_bandwidth();
  {
    loadtest::ServerWatch watch(target_, process_);
    const auto processes = watch.processes();
    loadtest::InterferenceWatch noise({processes.begin(), processes.end()});
    measured.run = loadtest::run_load(target_, style, *workload, plan, hooks);
    measured.noise = noise.stop();
    const double after = measured.run.stopped ? before : read_bandwidth();
    if (before > 0.0) {
      measured.noise.read_gb_s_before = before;
      measured.noise.read_gb_s_after = after;
      loadtest::judge(measured.noise);
    }
    std::tie(measured.server, measured.samples) = watch.finish(measured.run.started, model_, 0.5 * (before + after));
  }
  read_steps(measured);
  measured.metrics = loadtest::metrics_of(measured.run, slos, {load.percentile_metrics, load.metric_percentiles});
  return measured;
}

}  // namespace millrace::bench

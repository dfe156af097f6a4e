#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli.h"
#include "command.h"
#include "printable.h"
#include "screen/look.h"
#include "top/top_reader.h"
#include "top/top_screen.h"
#include "top/top_terminal.h"

namespace millrace::commands {
namespace {

using server::observe::ModelView;
using Json = nlohmann::ordered_json;

struct TopFlags {
  app::ServerAddress source{.url = "http://127.0.0.1:8000"};
  double interval = 1.0;  // seconds
  bool once = false, json = false;
};

volatile std::sig_atomic_t interrupted = 0;
bool is_interrupted() { return interrupted != 0; }

// Null where nothing was measured, and where what was exceeded is no limit.
Json measured(double seconds) { return seconds > 0.0 ? Json(seconds) : Json(); }
Json share(double value) { return value <= 1.0 ? Json(value) : Json(); }

Json json_of(const ModelView& view) {
  return {{"model", view.model},
          {"up", view.up},
          {"seconds", view.seconds},
          {"prompt_tokens_per_second", view.prompt_tokens_s},
          {"cached_tokens_per_second", view.cached_tokens_s},
          {"output_tokens_per_second", view.output_tokens_s},
          {"requests_per_second", view.requests_s},
          {"running", view.running},
          {"waiting", view.waiting},
          {"paused", view.paused},
          {"kv_cache_usage", view.kv_share},
          {"ttft_seconds", {{"p50", measured(view.ttft_p50)}, {"p95", measured(view.ttft_p95)}}},
          {"inter_token_seconds", {{"p50", measured(view.itl_p50)}, {"p95", measured(view.itl_p95)}}},
          {"memory_bandwidth_utilization", share(view.mbu)},
          {"compute_utilization", share(view.mfu)},
          {"busy_ratio", view.busy},
          {"step_share",
           {{"schedule", view.schedule_share},
            {"prepare", view.prepare_share},
            {"forward", view.forward_share},
            {"commit", view.commit_share}}},
          {"sequences_per_step", view.step_sequences},
          {"rank_wait_share", view.rank_waits},
          {"preemptions", view.preemptions},
          {"failed", view.failed},
          {"last_step_age_seconds", view.last_step_age_seconds}};
}

void print_json(const std::vector<ModelView>& views, bool indented) {
  Json all = Json::array();
  for (const ModelView& view : views) all.push_back(json_of(view));
  fmt::print("{}\n", all.dump(indented ? 2 : -1, ' ', false, Json::error_handler_t::replace));
  std::fflush(stdout);
}

// Two readings, and what happened between them.
class Meter {
 public:
  explicit Meter(const app::ServerAddress& source) : reader_(source) {}

  // Reads; the views are of the time since the reading before, or means since the server's start where there is none.
  Result<std::vector<ModelView>> read() {
    auto reading = reader_.read(is_interrupted);
    const auto now = std::chrono::steady_clock::now();
    if (!reading) {
      before_ = {};
      return reading.error();
    }
    requests_ = std::move(reading->requests);
    auto views =
        server::observe::views_of(before_, reading->metrics, std::chrono::duration<double>(now - taken_).count());
    before_ = std::move(reading->metrics);
    taken_ = now;
    return views;
  }
  const std::optional<std::vector<app::RequestRow>>& requests() const noexcept { return requests_; }

 private:
  app::TopReader reader_;
  metrics::MetricsReading before_;
  std::chrono::steady_clock::time_point taken_{};
  std::optional<std::vector<app::RequestRow>> requests_;
};

// Shorter if interrupted.
void wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (interrupted == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// Prints what happens in one interval, or with --json in each.
int print_intervals(const TopFlags& flags) {
  Meter meter(flags.source);
  meter.read().or_throw();
  for (;;) {
    wait(flags.interval);
    if (interrupted != 0) return 130;
    const auto views = meter.read();
    if (!views && (flags.once || !flags.json)) throw LoadError(views.error());
    if (!views) {
      fmt::print(stderr, "{}\n", views.error().message);
      continue;
    }
    if (flags.json) {
      print_json(*views, flags.once);
      if (flags.once) return 0;
      continue;
    }
    for (const std::string& line : app::screen_lines(*views, meter.requests(), {}, {.columns = 1000})) {
      fmt::print("{}\n", line);
    }
    return 0;
  }
}

// The screen and what the user does with it.
class Watch {
 public:
  explicit Watch(const TopFlags& flags)
      : meter_(flags.source), interval_(flags.interval), views_(meter_.read().or_throw()) {
    const screen::Look look = screen::look_of(STDOUT_FILENO);
    look_.colour = look.styles;
    look_.unicode = !look.ascii;
    look_.interactive = true;
  }

  int run() {
    app::TopTerminal terminal(::isatty(STDIN_FILENO) == 1);
    auto next = std::chrono::steady_clock::now();
    for (draw(terminal);; draw(terminal)) {
      next += std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(interval_));
      while (std::chrono::steady_clock::now() < next) {
        if (interrupted != 0) return 130;
        const app::TopKey key = terminal.wait_key(50);
        if (key == app::TopKey::kQuit) return 0;
        if (key != app::TopKey::kNone) {
          press(key);
          draw(terminal);
        }
      }
      next = std::max(next, std::chrono::steady_clock::now());
      read();
    }
  }

 private:
  void read() {
    auto views = meter_.read();
    trouble_ = views ? "" : views.error().message;
    if (!views) return;
    views_ = *std::move(views);
    history_.add(views_);
  }
  void press(app::TopKey key) {
    const std::size_t lines = views_.size() + (meter_.requests() ? meter_.requests()->size() : 0);
    if (key == app::TopKey::kUp && look_.selected > 0) --look_.selected;
    if (key == app::TopKey::kDown && look_.selected + 1 < lines) ++look_.selected;
    if (key == app::TopKey::kSort) look_.order = static_cast<app::TopOrder>((static_cast<int>(look_.order) + 1) % 3);
  }
  void draw(const app::TopTerminal& terminal) {
    const std::size_t lines = views_.size() + (meter_.requests() ? meter_.requests()->size() : 0);
    look_.selected = std::min(look_.selected, std::max<std::size_t>(lines, 1) - 1);
    look_.columns = terminal.columns();
    look_.rows = terminal.rows();
    if (trouble_.empty()) return terminal.draw(app::screen_lines(views_, meter_.requests(), history_, look_));
    terminal.draw({("trying again: " + trouble_).substr(0, look_.columns)});
  }

  Meter meter_;
  const double interval_;  // seconds
  std::vector<ModelView> views_;
  app::TopHistory history_;
  app::TopLook look_;
  std::string trouble_;  // why the last reading failed
};

// With --once, or where no screen can be drawn, two readings an interval apart: rates are of that time.
int top(const TopFlags& flags) {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  if (flags.json || flags.once || !screen::look_of(STDOUT_FILENO).escapes) return print_intervals(flags);
  return Watch(flags).run();
}

}  // namespace

app::Command top() {
  return {.name = "top",
          .summary = "Watch a server: tokens per second, requests, KV cache, latencies and hardware utilization",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<TopFlags>();
            app.add_option("url", flags->source.url, "URL of the server or of its /metrics page");
            app::declare_server_access(app, flags->source);
            app.add_option("--interval", flags->interval, "Seconds between two readings of the metrics")
                ->check(CLI::Range(0.1, 3600.0));
            app.add_flag(
                "--once", flags->once,
                "Print the first interval and exit; always so where stdout is not a terminal, except with --json");
            app.add_flag("--json", flags->json, "Print one JSON array per reading");
            return [flags] { return top(*flags); };
          },
          .example = "millrace top http://127.0.0.1:8000"};
}

}  // namespace millrace::commands

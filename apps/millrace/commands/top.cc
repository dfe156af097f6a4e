#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli.h"
#include "command.h"
#include "http/client/curl_client.h"
#include "http/client/text_sink.h"
#include "printable.h"
#include "server/observe/dashboard.h"

namespace millrace::commands {
namespace {

using metrics::MetricsReading;
using server::observe::ModelView;

constexpr std::size_t kMaxBytes = 64 << 20;
constexpr std::string_view kClear = "\033[H\033[2J";

struct TopFlags {
  std::string url = "http://127.0.0.1:8000";
  std::string api_key;
  double interval = 1.0;  // seconds
  bool once = false, json = false;
};

volatile std::sig_atomic_t interrupted = 0;

std::string metrics_url(std::string url) {
  if (url.find("://") == std::string::npos) url = "http://" + url;
  const std::size_t path = url.find('/', url.find("://") + 3);
  if (path == std::string::npos) return url + "/metrics";
  return path + 1 == url.size() ? url + "metrics" : url;
}

Result<MetricsReading> read_metrics(http::HttpClient& client, const TopFlags& flags) {
  http::HttpRequest request{.url = metrics_url(flags.url)};
  if (!flags.api_key.empty()) request.headers.add("Authorization", "Bearer " + flags.api_key);
  request.cancelled = [] { return interrupted != 0; };
  http::TextSink body(kMaxBytes);
  const auto outcome = client.exchange(request, body);
  if (const auto* failure = std::get_if<http::HttpFailure>(&outcome)) {
    return make_error(ErrorCode::kNotFound, "url", "{}: {}", app::printable(request.url), failure->message);
  }
  if (const int status = std::get<http::HttpResponse>(outcome).status; status != 200) {
    return make_error(ErrorCode::kNotFound, "url", "{}: status {}{}", app::printable(request.url), status,
                      status == 401 ? ": --api-key is missing or wrong" : "");
  }
  auto reading = MetricsReading::parse(body.take());
  if (!reading) return reading.error();
  reading->taken_unix_seconds =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return reading;
}

nlohmann::ordered_json json_of(const ModelView& view) {
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
          {"ttft_seconds", {{"p50", view.ttft_p50}, {"p95", view.ttft_p95}}},
          {"inter_token_seconds", {{"p50", view.itl_p50}, {"p95", view.itl_p95}}},
          {"memory_bandwidth_utilization", view.mbu},
          {"compute_utilization", view.mfu},
          {"busy_ratio", view.busy},
          {"step_share",
           {{"schedule", view.schedule_share},
            {"prepare", view.prepare_share},
            {"forward", view.forward_share},
            {"commit", view.commit_share}}},
          {"sequences_per_step", view.step_sequences},
          {"preemptions", view.preemptions},
          {"failed", view.failed},
          {"last_step_age_seconds", view.last_step_age_seconds}};
}

std::string bar(double share) {
  constexpr int kWidth = 20;
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kWidth));
  return fmt::format("[{}{}] {:5.1f} %", std::string(static_cast<std::size_t>(full), '#'),
                     std::string(static_cast<std::size_t>(kWidth - full), '.'), share * 100.0);
}

void print_screen(const ModelView& v) {
  fmt::print("{}{}\n", app::printable(v.model), v.up ? "" : "  ENGINE FAILED");
  fmt::print("  tokens/s    in {:>10.1f}   cached {:>10.1f}   out {:>10.1f}\n", v.prompt_tokens_s, v.cached_tokens_s,
             v.output_tokens_s);
  fmt::print("  requests    running {:>5.0f}   waiting {:>5.0f}   paused {:>5.0f}   done {:.2f}/s   failed {:.0f}\n",
             v.running, v.waiting, v.paused, v.requests_s, v.failed);
  fmt::print("  KV cache    {}   preemptions {:.0f}\n", bar(v.kv_share), v.preemptions);
  fmt::print("  bandwidth   {}   (MBU)\n", bar(v.mbu));
  fmt::print("  arithmetic  {}   (MFU)\n", bar(v.mfu));
  fmt::print("  engine      {}   (busy)\n", bar(v.busy));
  fmt::print("  TTFT        p50 {:>9.1f} ms   p95 {:>9.1f} ms\n", v.ttft_p50 * 1e3, v.ttft_p95 * 1e3);
  fmt::print("  token gap   p50 {:>9.2f} ms   p95 {:>9.2f} ms\n", v.itl_p50 * 1e3, v.itl_p95 * 1e3);
  fmt::print(
      "  a step      {:.1f} sequences; schedule {:.1f} %  prepare {:.1f} %  forward {:.1f} %  commit {:.1f} %\n\n",
      v.step_sequences, v.schedule_share * 100.0, v.prepare_share * 100.0, v.forward_share * 100.0,
      v.commit_share * 100.0);
}

void print_line(const ModelView& v) {
  fmt::print(
      "{}{} in {:.1f}/s out {:.1f}/s running {:.0f} waiting {:.0f} kv {:.1f}% ttft {:.1f}/{:.1f} ms gap "
      "{:.2f}/{:.2f} ms mbu {:.1f}% preempted {:.0f}\n",
      app::printable(v.model), v.up ? "" : " FAILED", v.prompt_tokens_s, v.output_tokens_s, v.running, v.waiting,
      v.kv_share * 100.0, v.ttft_p50 * 1e3, v.ttft_p95 * 1e3, v.itl_p50 * 1e3, v.itl_p95 * 1e3, v.mbu * 100.0,
      v.preemptions);
}

void print(const std::vector<ModelView>& views, const TopFlags& flags, bool screen) {
  if (flags.json) {
    auto all = nlohmann::ordered_json::array();
    for (const ModelView& view : views) all.push_back(json_of(view));
    fmt::print("{}\n", all.dump(flags.once ? 2 : -1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  } else {
    if (screen) fmt::print("{}", kClear);
    for (const ModelView& view : views) screen || flags.once ? print_screen(view) : print_line(view);
    if (views.empty()) fmt::print("no model has been loaded\n");
  }
  std::fflush(stdout);
}

// Shorter if interrupted.
void wait(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (interrupted == 0 && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

// With --once, two readings an interval apart: rates are of that time.
int top(const TopFlags& flags) {
  std::signal(SIGINT, [](int) { interrupted = 1; });
  const bool screen = !flags.json && !flags.once && isatty(STDOUT_FILENO) != 0;
  const auto client = http::make_curl_client({.connect_seconds = 5, .stalled_seconds = 10});
  MetricsReading before = read_metrics(*client, flags).or_throw();
  auto taken = std::chrono::steady_clock::now();
  if (screen) print(server::observe::views_of({}, before, 0.0), flags, screen);
  while (interrupted == 0) {
    wait(flags.interval);
    if (interrupted != 0) break;
    auto after = read_metrics(*client, flags);
    const auto now = std::chrono::steady_clock::now();
    if (!after && flags.once) throw LoadError(after.error());
    if (!after) {
      fmt::print(stderr, "{}\n", after.error().message);
      continue;
    }
    print(server::observe::views_of(before, *after, std::chrono::duration<double>(now - taken).count()), flags, screen);
    if (flags.once) return 0;
    before = *std::move(after);
    taken = now;
  }
  return 130;
}

}  // namespace

app::Command top() {
  return {.name = "top",
          .summary = "Watch a server: tokens per second, queues, KV cache, latencies and hardware utilization",
          .configure = [](CLI::App& app) -> std::function<int()> {
            auto flags = std::make_shared<TopFlags>();
            app.add_option("url", flags->url, "URL of the server or of its /metrics page");
            app.add_option("--api-key", flags->api_key, "API key of the server, sent as a bearer token")
                ->envname("MILLRACE_API_KEY");
            app.add_option("--interval", flags->interval, "Seconds between two readings of the metrics")
                ->check(CLI::Range(0.1, 3600.0));
            app.add_flag("--once", flags->once, "Print the first interval and exit");
            app.add_flag("--json", flags->json, "Print one JSON array per reading");
            return [flags] { return top(*flags); };
          },
          .example = "millrace top http://127.0.0.1:8000"};
}

}  // namespace millrace::commands

// What the server costs: `server_load fake` on a model that computes nothing, `server_load url` on any that listens.

#include <CLI/CLI.hpp>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "fake_server.h"
#include "loadtest/arrivals.h"
#include "loadtest/client/load_client.h"
#include "loadtest/load_run.h"
#include "metrics/statistics.h"
#include "random_requests.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::bench {
namespace {

struct FakeFlags {
  std::int64_t streams = 256, tokens = 2000, rounds = 3, connections = 10'000, probes = 2000;
  int io_threads = 1;
};

using loadtest::LoadPlan;
using loadtest::LoadRun;
using loadtest::Outcome;
using loadtest::RequestRecord;

RandomRequests letters(std::int64_t input, std::int64_t output) {
  return RandomRequests({.vocabulary = simulator::kLetters, .input = {input, input}, .output = {output, output}});
}

loadtest::Target target_of(const FakeServer& server) {
  return loadtest::parse_target("url", fmt::format("127.0.0.1:{}", server.port())).or_throw();
}

// `requests` requests, `users` at a time: each brings all of its tokens, an event each.
LoadRun run_letters(const FakeServer& server, std::int64_t input, std::int64_t output, std::int64_t requests,
                    std::int64_t users) {
  LoadRun run =
      loadtest::run_load(target_of(server), {}, letters(input, output), {.sessions = requests, .users = users});
  for (const RequestRecord& record : run.records) {
    if (!record.good() || static_cast<std::int64_t>(record.events.size()) != output) {
      throw_load_error(ErrorCode::kUnavailable, "server", "an answer has status {} and {} tokens of {}: {}",
                       record.status, record.events.size(), output, record.error);
    }
  }
  return run;
}

double events_of(const LoadRun& run) {
  double events = 0.0;
  for (const RequestRecord& record : run.records) events += static_cast<double>(record.events.size());
  return events;
}

void row(std::string_view what, std::string_view value, std::string_view aim) {
  fmt::print("| {:<58} | {:>12} | {:>10} |\n", what, value, aim);
  std::fflush(stdout);
}

// Tokens a second of many streams, the best of the rounds (a neighbour only ever slows them down).
void measure_rate(const FakeFlags& flags) {
  const FakeServer server({.max_sequences = flags.streams}, flags.io_threads);
  run_letters(server, 16, 50, flags.streams, flags.streams);
  double rate = 0.0, microseconds = 0.0;
  for (std::int64_t i = 0; i < flags.rounds; ++i) {
    const double cpu = server.cpu_seconds();
    const LoadRun run = run_letters(server, 16, flags.tokens, flags.streams, flags.streams);
    const double now = events_of(run) / run.seconds;
    if (now < rate) continue;
    rate = now;
    microseconds = (server.cpu_seconds() - cpu) * 1e6 / events_of(run);
  }
  row(fmt::format("{} streams: tokens a second", flags.streams), fmt::format("{:.0f}", rate), ">= 50000");
  row("processor time of the server for a token", fmt::format("{:.2f} us", microseconds), "");
}

// At a pace where each token is a write of its own: what a token costs while nothing can be written together.
void measure_pace(const FakeFlags& flags) {
  const FakeServer server({.max_sequences = flags.streams, .step = std::chrono::milliseconds(5)}, flags.io_threads);
  run_letters(server, 16, 50, flags.streams, flags.streams);
  const double cpu = server.cpu_seconds();
  const LoadRun run = run_letters(server, 16, 1000, flags.streams, flags.streams);
  row("the same in steps of 5 ms: tokens a second", fmt::format("{:.0f}", events_of(run) / run.seconds), "");
  row("processor time of the server for a token",
      fmt::format("{:.2f} us", (server.cpu_seconds() - cpu) * 1e6 / events_of(run)), "");
}

// From the request to the first byte of the answer, one request after the other: all of it is the server's.
void measure_first_byte(const FakeFlags& flags) {
  const FakeServer server({}, flags.io_threads);
  run_letters(server, 128, 2, 50, 1);
  std::vector<double> times;
  for (const RequestRecord& record : run_letters(server, 128, 2, flags.probes, 1).records) {
    times.push_back(1e3 * (record.first_byte - record.due));
  }
  row("request to first byte, median", fmt::format("{:.3f} ms", metrics::quantile(times, 0.5)), "<= 1 ms");
  row("request to first byte, 99 %", fmt::format("{:.3f} ms", metrics::quantile(times, 0.99)), "");
}

// Opens `streams` answers, `at_once` of them without an event at most, and returns when each has its first.
void open_streams(loadtest::LoadClient& client, const RandomRequests& requests, std::int64_t streams,
                  std::int64_t at_once) {
  const loadtest::RequestStyle style;
  std::int64_t sent = 0;
  while (static_cast<std::int64_t>(client.streaming()) < streams) {
    while (sent < streams && static_cast<std::int64_t>(client.active() - client.streaming()) < at_once) {
      const loadtest::Session session = requests.session(static_cast<std::uint64_t>(sent++));
      client.send({.path = style.path(), .body = loadtest::request_body(style, {}, session.turns.front())});
    }
    client.poll(Clock::now() + std::chrono::seconds(1));
    for (const RequestRecord& record : client.take_ended()) {
      throw_load_error(ErrorCode::kUnavailable, "server", "a stream ended that should stay open: {}", record.error);
    }
  }
}

// What an open stream holds of the server's memory, its engine's part included.
void measure_memory(const FakeFlags& flags) {
  constexpr std::int64_t kAtOnce = 500;  // less than the server queues before it says 429
  constexpr std::int64_t kTokens = 300;  // a minute of steps, and pages for that many
  const FakeServer server({.max_sequences = flags.connections, .step = std::chrono::milliseconds(200)},
                          flags.io_threads);
  const int threads = server.threads();
  run_letters(server, 16, 2, 64, 64);
  const std::int64_t before = server.resident_bytes();
  loadtest::LoadClient client(target_of(server));
  open_streams(client, letters(16, kTokens), flags.connections, kAtOnce);
  const std::int64_t tokens = client.events();
  for (const TimePoint end = Clock::now() + std::chrono::seconds(3); Clock::now() < end;) client.poll(end);
  const auto grown = static_cast<double>(server.resident_bytes() - before);
  row(fmt::format("{} open streams: KiB of memory each", flags.connections),
      fmt::format("{:.1f}", grown / 1024.0 / static_cast<double>(flags.connections)), "<= 64");
  row("tokens each got in 3 s after that",
      fmt::format("{:.1f}", static_cast<double>(client.events() - tokens) / static_cast<double>(flags.connections)),
      "");
  row("threads of the server with none and with all of them", fmt::format("{} / {}", threads, server.threads()),
      "equal");
}

void run_fake(const FakeFlags& flags) {
  log::set_level(log::Level::kWarn);
  row("a model that computes nothing", "measured", "aim");
  fmt::print("|{:->60}|{:->13}:|{:->11}:|\n", "", "", "");
  if (flags.streams > 0) {
    measure_rate(flags);
    measure_pace(flags);
  }
  if (flags.probes > 0) measure_first_byte(flags);
  if (flags.connections > 0) measure_memory(flags);
}

struct UrlFlags {
  std::string host = "127.0.0.1", input = "128", output = "64", model;
  int port = 8000;
  std::int64_t requests = 0, concurrency = 32;
  double rate = 0.0, seconds = 0.0, disconnect = 0.0;
  RandomRequests::Shape load;
};

LoadPlan plan_of(const UrlFlags& flags) {
  LoadPlan plan{.sessions = flags.requests,
                .users = flags.concurrency,
                .disconnect_fraction = flags.disconnect,
                .seed = flags.load.seed};
  if (flags.rate > 0.0) {
    plan.users = 0;
    plan.starts = loadtest::schedule({.rate = flags.rate, .seed = flags.load.seed}, flags.requests);
  } else if (flags.seconds > 0.0) {
    plan.sessions = std::numeric_limits<std::int64_t>::max();
    plan.seconds = flags.seconds;
  }
  return plan;
}

nlohmann::ordered_json distribution(std::span<const double> values) {
  const metrics::Distribution d = metrics::distribution_of(values);
  return {{"mean", d.mean}, {"p50", d.p50}, {"p90", d.p90}, {"p99", d.p99}, {"max", d.max}};
}

void run_url(UrlFlags flags) {
  flags.load.input = metrics::parse_token_range("input", flags.input).or_throw();
  flags.load.output = metrics::parse_token_range("output", flags.output).or_throw();
  const auto target = loadtest::parse_target("host", fmt::format("{}:{}", flags.host, flags.port)).or_throw();
  const LoadRun run = loadtest::run_load(target, {.model = flags.model}, RandomRequests(flags.load), plan_of(flags));
  std::int64_t whole = 0, disconnected = 0;
  std::vector<double> ttft, tpot;
  for (const RequestRecord& record : run.records) {
    whole += record.good() ? 1 : 0;
    disconnected += record.outcome == Outcome::kDisconnected ? 1 : 0;
    if (!record.good()) continue;
    ttft.push_back(1e3 * record.ttft());
    if (record.output_tokens() > 1) tpot.push_back(1e3 * record.tpot());
  }
  const nlohmann::ordered_json report = {
      {"seconds", run.seconds},
      {"requests", run.records.size()},
      {"whole", whole},
      {"disconnected", disconnected},
      {"failed", static_cast<std::int64_t>(run.records.size()) - whole - disconnected},
      {"events", static_cast<std::int64_t>(events_of(run))},
      {"events_s", events_of(run) / run.seconds},
      {"requests_s", static_cast<double>(run.records.size()) / run.seconds},
      {"ttft_ms", distribution(ttft)},
      {"tpot_ms", distribution(tpot)}};
  fmt::print("{}\n", report.dump(2));
}

int run(int argc, char** argv) {
  CLI::App app("What the server costs");
  app.require_subcommand(1);
  FakeFlags fake;
  CLI::App* const on_fake = app.add_subcommand("fake", "On a model that computes nothing: rate, latency, memory");
  on_fake->add_option("--streams", fake.streams, "At once, for the rate; 0 = not measured")->capture_default_str();
  on_fake->add_option("--tokens", fake.tokens, "Of each stream")->capture_default_str();
  on_fake->add_option("--rounds", fake.rounds, "The best one counts")->capture_default_str();
  on_fake->add_option("--connections", fake.connections, "Open at once, for the memory; 0 = not measured")
      ->capture_default_str();
  on_fake->add_option("--probes", fake.probes, "Requests for the latency; 0 = not measured")->capture_default_str();
  on_fake->add_option("--io-threads", fake.io_threads, "Of the server")->capture_default_str();
  UrlFlags url;
  CLI::App* const on_url = app.add_subcommand("url", "On a server that listens: streams of random token ids, as JSON");
  on_url->add_option("--host", url.host, "Its name or address")->capture_default_str();
  on_url->add_option("--port", url.port)->capture_default_str();
  on_url->add_option("--model", url.model, "Its name; default the server's first");
  on_url->add_option("--vocabulary", url.load.vocabulary, "Token ids are below")->required();
  on_url->add_option("--requests", url.requests)->capture_default_str();
  on_url->add_option("--concurrency", url.concurrency, "At a time (closed loop)")->capture_default_str();
  on_url->add_option("--rate", url.rate, "Poisson arrivals a second instead (open loop)");
  on_url->add_option("--seconds", url.seconds, "Instead of a number of requests (closed loop)");
  on_url->add_option("--input", url.input, "Tokens: N, MIN-MAX or MIN-MAX:long")->capture_default_str();
  on_url->add_option("--output", url.output, "Tokens: N, MIN-MAX or MIN-MAX:long")->capture_default_str();
  on_url->add_option("--disconnect-fraction", url.disconnect, "Share of the clients that leave before the end");
  on_url->add_option("--seed", url.load.seed)->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    on_fake->parsed() ? run_fake(fake) : run_url(url);
    return 0;
  } catch (const LoadError& failure) {
    fmt::print(stderr, "server_load: {}\n", failure.what());
    return 1;
  }
}

}  // namespace
}  // namespace millrace::bench

int main(int argc, char** argv) { return millrace::bench::run(argc, argv); }

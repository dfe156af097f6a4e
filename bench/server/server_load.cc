// What the server costs: `server_load fake` on a model that computes nothing, `server_load url` on any that listens.

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "fake_server.h"
#include "load_runs.h"
#include "loadgen/statistics.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::bench {
namespace {

struct FakeFlags {
  std::int64_t streams = 256, tokens = 2000, rounds = 3, connections = 10'000, probes = 2000;
  int io_threads = 1;
};

StreamLoad letters(std::int64_t input, std::int64_t output) {
  return {.vocabulary = simulator::kLetters, .input = {input, input}, .output = {output, output}};
}

void row(std::string_view what, std::string_view value, std::string_view aim) {
  fmt::print("| {:<58} | {:>12} | {:>10} |\n", what, value, aim);
  std::fflush(stdout);
}

void check_whole(const LoadRun& run, std::int64_t tokens) {
  for (const StreamSeen& seen : run.answers) {
    if (!seen.whole || seen.events != tokens) {
      throw_load_error(ErrorCode::kUnavailable, "server", "an answer has status {} and {} tokens of {}", seen.status,
                       seen.events, tokens);
    }
  }
}

// Tokens a second of many streams, the best of the rounds (a neighbour only ever slows them down).
void measure_rate(const FakeFlags& flags) {
  const FakeServer server({.max_sequences = flags.streams}, flags.io_threads);
  StreamClient client("127.0.0.1", server.port());
  check_whole(run_closed(client, letters(16, 50), flags.streams, flags.streams), 50);
  double rate = 0.0, microseconds = 0.0;
  for (std::int64_t i = 0; i < flags.rounds; ++i) {
    const double cpu = server.cpu_seconds();
    const LoadRun run = run_closed(client, letters(16, flags.tokens), flags.streams, flags.streams);
    check_whole(run, flags.tokens);
    const double now = static_cast<double>(run.events) / run.seconds;
    if (now < rate) continue;
    rate = now;
    microseconds = (server.cpu_seconds() - cpu) * 1e6 / static_cast<double>(run.events);
  }
  row(fmt::format("{} streams: tokens a second", flags.streams), fmt::format("{:.0f}", rate), ">= 50000");
  row("processor time of the server for a token", fmt::format("{:.2f} us", microseconds), "");
}

// At a pace where each token is a write of its own: what a token costs while nothing can be written together.
void measure_pace(const FakeFlags& flags) {
  const FakeServer server({.max_sequences = flags.streams, .step = std::chrono::milliseconds(5)}, flags.io_threads);
  StreamClient client("127.0.0.1", server.port());
  check_whole(run_closed(client, letters(16, 50), flags.streams, flags.streams), 50);
  const double cpu = server.cpu_seconds();
  const LoadRun run = run_closed(client, letters(16, 1000), flags.streams, flags.streams);
  check_whole(run, 1000);
  row("the same in steps of 5 ms: tokens a second",
      fmt::format("{:.0f}", static_cast<double>(run.events) / run.seconds), "");
  row("processor time of the server for a token",
      fmt::format("{:.2f} us", (server.cpu_seconds() - cpu) * 1e6 / static_cast<double>(run.events)), "");
}

// From the request to the first byte of the answer, one request after the other: all of it is the server's.
void measure_first_byte(const FakeFlags& flags) {
  const FakeServer server({}, flags.io_threads);
  StreamClient client("127.0.0.1", server.port());
  check_whole(run_closed(client, letters(128, 2), 50, 1), 2);
  std::vector<double> times;
  for (const StreamSeen& seen : run_closed(client, letters(128, 2), flags.probes, 1).answers) {
    times.push_back(seen.first_byte_ms());
  }
  row("request to first byte, median", fmt::format("{:.3f} ms", loadgen::quantile(times, 0.5)), "<= 1 ms");
  row("request to first byte, 99 %", fmt::format("{:.3f} ms", loadgen::quantile(times, 0.99)), "");
}

// What an open stream holds of the server's memory, its engine's part included.
void measure_memory(const FakeFlags& flags) {
  constexpr std::int64_t kAtOnce = 500;  // less than the server queues before it says 429
  constexpr std::int64_t kTokens = 300;  // a minute of steps, and pages for that many
  const FakeServer server({.max_sequences = flags.connections, .step = std::chrono::milliseconds(200)},
                          flags.io_threads);
  const int threads = server.threads();
  {
    StreamClient first("127.0.0.1", server.port());
    run_closed(first, letters(16, 2), 64, 64);
  }
  const std::int64_t before = server.resident_bytes();
  StreamClient client("127.0.0.1", server.port());
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
  std::string host = "127.0.0.1", input = "128", output = "64";
  int port = 8000;
  std::int64_t requests = 0, concurrency = 32;
  double rate = 0.0, seconds = 0.0;
  StreamLoad load;
};

nlohmann::ordered_json distribution(std::span<const double> values) {
  const loadgen::Distribution d = loadgen::distribution_of(values);
  return {{"mean", d.mean}, {"p50", d.p50}, {"p90", d.p90}, {"p99", d.p99}, {"max", d.max}};
}

void run_url(UrlFlags flags) {
  flags.load.input = loadgen::parse_token_range("input", flags.input).or_throw();
  flags.load.output = loadgen::parse_token_range("output", flags.output).or_throw();
  StreamClient client(flags.host, flags.port);
  const LoadRun run = flags.rate > 0.0      ? run_open(client, flags.load, flags.requests, flags.rate)
                      : flags.seconds > 0.0 ? run_closed_for(client, flags.load, flags.seconds, flags.concurrency)
                                            : run_closed(client, flags.load, flags.requests, flags.concurrency);
  std::int64_t whole = 0, abandoned = 0;
  std::vector<double> ttft, tpot;
  for (const StreamSeen& seen : run.answers) {
    whole += seen.whole ? 1 : 0;
    abandoned += seen.abandoned ? 1 : 0;
    if (!seen.whole) continue;
    ttft.push_back(seen.ttft_ms());
    if (seen.events > 1) tpot.push_back(seen.tpot_ms());
  }
  const nlohmann::ordered_json report = {{"seconds", run.seconds},
                                         {"requests", run.answers.size()},
                                         {"whole", whole},
                                         {"abandoned", abandoned},
                                         {"failed", static_cast<std::int64_t>(run.answers.size()) - whole - abandoned},
                                         {"events", run.events},
                                         {"events_s", static_cast<double>(run.events) / run.seconds},
                                         {"requests_s", static_cast<double>(run.answers.size()) / run.seconds},
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
  on_url->add_option("--host", url.host, "An address of IPv4")->capture_default_str();
  on_url->add_option("--port", url.port)->capture_default_str();
  on_url->add_option("--model", url.load.model, "Its name; default the server's first");
  on_url->add_option("--vocabulary", url.load.vocabulary, "Token ids are below")->required();
  on_url->add_option("--requests", url.requests)->capture_default_str();
  on_url->add_option("--concurrency", url.concurrency, "At a time (closed loop)")->capture_default_str();
  on_url->add_option("--rate", url.rate, "Poisson arrivals a second instead (open loop)");
  on_url->add_option("--seconds", url.seconds, "Instead of a number of requests (closed loop)");
  on_url->add_option("--input", url.input, "Tokens: N, MIN-MAX or MIN-MAX:long")->capture_default_str();
  on_url->add_option("--output", url.output, "Tokens: N, MIN-MAX or MIN-MAX:long")->capture_default_str();
  on_url->add_option("--abandon", url.load.abandon, "Share of the clients that leave before the end");
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

#include "load_runs.h"

#include <fmt/ranges.h>

#include <cmath>
#include <iterator>

namespace millrace::bench {
namespace {

constexpr std::string_view kPath = "/v1/completions";
constexpr std::uint64_t kInput = 0, kOutput = 1, kLeave = 101, kWhen = 102, kArrival = 103;  // streams of numbers
constexpr std::chrono::seconds kPatience{120};                                               // for anything to come

// [0, 1)
double uniform(std::uint64_t seed, std::uint64_t index, std::uint64_t stream) {
  constexpr std::int64_t kSteps = loadgen::kMaxTokens;
  return static_cast<double>(loadgen::draw({1, kSteps}, seed, index, stream) - 1) / static_cast<double>(kSteps);
}

void send(StreamClient& client, const StreamLoad& load, std::uint64_t index, TimePoint due) {
  const std::int64_t output = loadgen::draw(load.output, load.seed, index, kOutput);
  const auto prompt =
      loadgen::random_prompt(loadgen::draw(load.input, load.seed, index, kInput), load.vocabulary, load.seed, index);
  std::string body = "{";
  if (!load.model.empty()) body += fmt::format(R"("model":"{}",)", load.model);
  fmt::format_to(std::back_inserter(body),
                 R"("prompt":[{}],"max_tokens":{},"ignore_eos":true,"temperature":0,"stream":true}})",
                 fmt::join(prompt, ","), output);
  std::int64_t leave = 0;
  if (uniform(load.seed, index, kLeave) < load.abandon) leave = loadgen::draw({1, output}, load.seed, index, kWhen);
  client.send(kPath, body, due, leave);
}

class Timed {
 public:
  explicit Timed(StreamClient& client) : client_(client), start_(Clock::now()), before_(client.events()) {}
  // Waits for something, at most until then, and takes what has ended.
  void wait(TimePoint until) {
    const std::int64_t before = client_.events();
    const std::size_t ended = run_.answers.size();
    client_.poll(std::min(until, Clock::now() + kPatience));
    std::ranges::move(client_.take_ended(), std::back_inserter(run_.answers));
    const TimePoint now = Clock::now();
    if (client_.events() != before || run_.answers.size() != ended) last_ = now;
    if (now - last_ > kPatience) throw_load_error(ErrorCode::kUnavailable, "server", "nothing came for two minutes");
  }
  std::size_t ended() const noexcept { return run_.answers.size(); }
  TimePoint start() const noexcept { return start_; }
  LoadRun finish() {
    TimePoint end = start_;
    for (const StreamSeen& seen : run_.answers) end = std::max(end, seen.last_event);
    run_.seconds = milliseconds_between(start_, end) / 1e3;
    run_.events = client_.events() - before_;
    return std::move(run_);
  }

 private:
  StreamClient& client_;
  const TimePoint start_;
  TimePoint last_ = Clock::now();
  const std::int64_t before_;
  LoadRun run_;
};

}  // namespace

LoadRun run_closed(StreamClient& client, const StreamLoad& load, std::int64_t requests, std::int64_t concurrency) {
  Timed run(client);
  std::int64_t sent = 0;
  while (static_cast<std::int64_t>(run.ended()) < requests) {
    while (sent < requests && static_cast<std::int64_t>(client.active()) < concurrency) {
      send(client, load, static_cast<std::uint64_t>(sent++), Clock::now());
    }
    run.wait(TimePoint::max());
  }
  return run.finish();
}

LoadRun run_closed_for(StreamClient& client, const StreamLoad& load, double seconds, std::int64_t concurrency) {
  Timed run(client);
  const TimePoint end = run.start() + std::chrono::milliseconds(std::int64_t(seconds * 1e3));
  std::uint64_t sent = 0;
  while (Clock::now() < end || client.active() > 0) {
    while (Clock::now() < end && static_cast<std::int64_t>(client.active()) < concurrency) {
      send(client, load, sent++, Clock::now());
    }
    run.wait(TimePoint::max());
  }
  return run.finish();
}

LoadRun run_open(StreamClient& client, const StreamLoad& load, std::int64_t requests, double rate) {
  Timed run(client);
  TimePoint due = run.start();
  std::int64_t sent = 0;
  while (static_cast<std::int64_t>(run.ended()) < requests) {
    while (sent < requests && due <= Clock::now()) {
      send(client, load, static_cast<std::uint64_t>(sent), due);
      const double gap = -std::log1p(-uniform(load.seed, static_cast<std::uint64_t>(sent), kArrival)) / rate;
      due += std::chrono::nanoseconds(std::int64_t(gap * 1e9));
      ++sent;
    }
    run.wait(sent < requests ? due : TimePoint::max());
  }
  return run.finish();
}

void open_streams(StreamClient& client, const StreamLoad& load, std::int64_t streams, std::int64_t at_once) {
  Timed run(client);
  std::int64_t sent = 0;
  while (static_cast<std::int64_t>(client.streaming()) < streams) {
    while (sent < streams && static_cast<std::int64_t>(client.active() - client.streaming()) < at_once) {
      send(client, load, static_cast<std::uint64_t>(sent++), Clock::now());
    }
    run.wait(TimePoint::max());
    if (run.ended() > 0) throw_load_error(ErrorCode::kUnavailable, "server", "a stream ended that should stay open");
  }
}

}  // namespace millrace::bench

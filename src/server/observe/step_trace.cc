#include "server/observe/step_trace.h"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/thread_name.h"

namespace millrace::server::observe {
namespace {

constexpr std::chrono::milliseconds kWait{500};
constexpr std::string_view kEnd = R"({"ph":"M","pid":0,"tid":0,"name":"trace_end","args":{}}])"
                                  "\n";

double microseconds(TimePoint start, TimePoint time) { return milliseconds_between(start, time) * 1e3; }

std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Viewers add time and duration as binary fractions. What then seems to reach a little into the next event, or out of
// the one around it, they show inside that or not at all: a phase ends two nanoseconds early, a step one.
constexpr double kStepGap = 0.001, kPhaseGap = 0.002;  // microseconds

std::string timed_event(int process, std::string_view name, double at_us, double us,
                        std::string_view arguments = "{}") {
  return fmt::format(R"({{"ph":"X","pid":{},"tid":1,"name":"{}","ts":{:.3f},"dur":{:.3f},"args":{}}},)"
                     "\n",
                     process, name, at_us, us, arguments);
}

// A slice of a request's track. Slices of one track nest.
std::string slice(int process, std::string_view id, std::string_view name, double begin_us, double end_us,
                  std::string_view arguments = "{}") {
  constexpr std::string_view kFormat =
      R"({{"ph":"{}","cat":"request","pid":{},"tid":2,"id":{},"name":{},"ts":{:.3f},"args":{}}},)"
      "\n";
  return fmt::format(kFormat, "b", process, id, json_text(name), begin_us, arguments) +
         fmt::format(kFormat, "e", process, id, json_text(name), std::max(begin_us, end_us), "{}");
}

// How long each rank was at a step, and how much of that it waited for others, to end the arguments of the step.
std::string of_ranks(std::span<const model::RankTime> ranks) {
  if (ranks.empty()) return "";
  std::string text = R"(,"ranks":[)";
  for (const model::RankTime& rank : ranks) {
    text += fmt::format(R"({{"ms":{:.3f},"waited_ms":{:.3f}}},)", rank.ms, rank.waited_ms);
  }
  text.back() = ']';
  return text;
}

std::string track_of(std::uint64_t request, int choice) { return fmt::format("\"{}.{}\"", request, choice); }

}  // namespace

Result<std::unique_ptr<StepTrace>> StepTrace::create(Env& env, const std::string& path, const Config& config) {
  auto file = env.create(path);
  if (!file) return file.error();
  return std::unique_ptr<StepTrace>(new StepTrace(*std::move(file), path, env.now(), config));
}

StepTrace::StepTrace(std::unique_ptr<WritableFile> file, std::string path, TimePoint start, const Config& config)
    : config_(config),
      path_(std::move(path)),
      start_(start),
      file_(std::move(file)),
      queue_(config.max_queued),
      thread_([this] { run(); }) {}

StepTrace::~StepTrace() {
  queue_.close();
  thread_.join();
}

int StepTrace::process_of(std::string_view model, std::string& events) {
  const auto it = std::ranges::find(models_, model);
  const int process = static_cast<int>(it - models_.begin()) + 1;
  if (it != models_.end()) return process;
  models_.emplace_back(model);
  constexpr std::string_view kFormat = R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{{"name":{}}}}},)"
                                       "\n";
  events += fmt::format(kFormat, process, 1, "process_name", json_text(model));
  events += fmt::format(kFormat, process, 1, "thread_name", json_text("engine"));
  return process;
}

void StepTrace::step(std::string_view model, const engine::StepReport& report) {
  std::string events;
  const std::lock_guard lock(mutex_);
  if (full_) return;
  const int process = process_of(model, events);
  const double begin = microseconds(start_, report.start), end = microseconds(start_, report.end);
  events += timed_event(
      process, "step", begin, std::max(0.0, end - begin - kStepGap),
      fmt::format(R"({{"sequences":{},"prefill_tokens":{},"decode_tokens":{},"cached_tokens":{},"kv_tokens_read":{},)"
                  R"("preempted":{},"running":{},"waiting":{},"paused":{},"pages_used":{},"pages_free":{}{}}})",
                  report.sequences, report.prefill_tokens, report.decode_tokens, report.cached_tokens,
                  report.kv_tokens_read, report.preempted, report.running, report.waiting, report.paused,
                  report.pages.used, report.pages.free, of_ranks(report.ranks)));
  // With two steps in flight a step waits between its launch and the executor's turn.
  const double commit = end - report.commit_ms * 1e3, forward = commit - report.forward_ms * 1e3;
  const auto phase = [&](std::string_view name, double at, double milliseconds) {
    const double us = milliseconds * 1e3 - kPhaseGap;
    if (us > 0.0) events += timed_event(process, name, at, us);
  };
  phase("schedule", begin, report.schedule_ms);
  phase("prepare", begin + report.schedule_ms * 1e3, report.prepare_ms);
  phase("forward", forward, report.forward_ms);
  phase("commit", commit, report.commit_ms);
  for (const engine::RowReport& row : report.rows) {
    if (row.decode) continue;
    const std::string track = track_of(row.request, row.choice);
    const double start = microseconds(start_, row.start);
    if (row.begins && begun_.insert({process, row.request}).second) {
      events += slice(process, track, "queue", microseconds(start_, row.arrival), start);
    }
    events += slice(process, track, "prefill", start, commit,
                    fmt::format(R"({{"first":{},"tokens":{}}})", row.first, row.tokens));
  }
  queue_.push(std::move(events));
}

void StepTrace::request(const RequestRecord& record) {
  std::string events;
  const std::lock_guard lock(mutex_);
  if (full_ || record.answers.empty()) return;
  const int process = process_of(record.model, events);
  const bool begun = begun_.erase({process, record.engine_request}) > 0;
  for (std::size_t i = 0; i < record.answers.size(); ++i) {
    const AnswerRecord& answer = record.answers[i];
    const engine::RequestStats& stats = answer.stats;
    const std::string track = track_of(record.engine_request, static_cast<int>(i));
    if (!begun && i == 0) {
      const TimePoint until = happened(stats.admitted) ? stats.admitted : answer.spent.finished;
      events += slice(process, track, "queue", microseconds(start_, stats.arrival), microseconds(start_, until));
    }
    if (!happened(stats.first_token)) continue;
    events += slice(process, track, "decode", microseconds(start_, stats.first_token),
                    microseconds(start_, answer.spent.finished),
                    fmt::format(R"({{"request_id":{},"prompt_tokens":{},"cached_tokens":{},"output_tokens":{},)"
                                R"("preemptions":{},"finish":"{}"}})",
                                json_text(record.request_id), stats.prompt_tokens, stats.cached_tokens,
                                stats.output_tokens, stats.preemptions, engine::to_string(answer.finish)));
  }
  queue_.push(std::move(events));
}

void StepTrace::run() {
  name_thread("step-trace");
  std::uint64_t written = 0;
  const auto append = [&](std::string_view text) -> Result<void> {
    written += text.size();
    return file_->append(std::as_bytes(std::span(text)));
  };
  const auto stop = [this] {
    const std::lock_guard lock(mutex_);
    full_ = true;
  };
  // Where the trace's time 0 lies on the machine's steady clock, to lay it beside what another process saw.
  Result<void> result =
      append(fmt::format("[\n"
                         R"({{"ph":"M","pid":0,"tid":0,"name":"trace_start","args":{{"steady_us":{:.3f}}}}},)"
                         "\n",
                         milliseconds_between(TimePoint{}, start_) * 1e3));
  for (bool ending = false; result && !ending;) {
    ending = queue_.closed();
    for (const std::string& events : queue_.take(kWait)) {
      if (!result) break;
      if (written + events.size() + kEnd.size() > config_.max_bytes) {
        log::warn("{}: the trace has reached its limit of {} bytes and ends here", path_, config_.max_bytes);
        stop();
        ending = true;
        break;
      }
      result = append(events);
    }
  }
  if (result) result = append(kEnd);
  stop();
  if (!result) log::warn("{}; tracing ends, serving goes on", result.error().message);
}

}  // namespace millrace::server::observe

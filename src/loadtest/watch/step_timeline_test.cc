#include "loadtest/watch/step_timeline.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace millrace::loadtest {
namespace {

// A trace whose clock begins 100 s into the machine's, of a run that began 2 s later.
constexpr std::string_view kTrace = R"([
{"ph":"M","pid":0,"tid":0,"name":"trace_start","args":{"steady_us":100000000.000}},
{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{"name":"m"}},
{"ph":"X","pid":1,"tid":1,"name":"step","ts":1000000.000,"dur":1000.000,"args":{"sequences":9}},
{"ph":"X","pid":1,"tid":1,"name":"step","ts":2500000.000,"dur":20000.000,"args":{"sequences":1,"prefill_tokens":64,"decode_tokens":0,"cached_tokens":0,"kv_tokens_read":0,"preempted":1,"running":2,"waiting":3,"paused":0,"pages_used":4,"pages_free":5}},
{"ph":"X","pid":1,"tid":1,"name":"forward","ts":2500000.000,"dur":19000.000,"args":{}},
{"ph":"b","cat":"request","pid":1,"tid":2,"id":"7.0","name":"queue","ts":2400000.000,"args":{}},
{"ph":"e","cat":"request","pid":1,"tid":2,"id":"7.0","name":"queue","ts":2500000.000,"args":{}},
{"ph":"b","cat":"request","pid":1,"tid":2,"id":"7.0","name":"prefill","ts":2500000.000,"args":{"first":0,"tokens":64}},
{"ph":"e","cat":"request","pid":1,"tid":2,"id":"7.0","name":"prefill","ts":2520000.000,"args":{}},
{"ph":"b","cat":"request","pid":1,"tid":2,"id":"7.0","name":"decode","ts":2520000.000,"args":{"request_id":"abc","output_tokens":3}},
{"ph":"e","cat":"request","pid":1,"tid":2,"id":"7.0","name":"decode","ts":2600000.000,"args":{}},
{"ph":"X","pid":1,"tid":1,"name":"step","ts":9000000.000,"dur":1000.000,"args":{"sequences":9}},
{"ph":"X","pid":1,"tid":1,"name":"st)";

const TimePoint kStarted = TimePoint{} + std::chrono::seconds(102);

std::vector<RequestRecord> records() {
  std::vector<RequestRecord> records(2);
  records[0].index = 0;
  records[0].id = "cmpl-abc";
  records[1].index = 1;
  records[1].id = "cmpl-unknown";
  return records;
}

TEST(StepTimeline, LaysStepsAndPhasesOnTheRunsClock) {
  const StepTimeline timeline = read_step_timeline(kTrace, kStarted, 5.0, records()).or_throw();
  ASSERT_EQ(timeline.steps.t.size(), 1u);  // neither what was before the run nor after it
  EXPECT_NEAR(timeline.steps.t[0], 0.5, 1e-9);
  EXPECT_NEAR(timeline.steps.ms[0], 20.0, 1e-9);
  EXPECT_EQ(timeline.steps.prefill_tokens[0], 64);
  EXPECT_EQ(timeline.steps.waiting[0], 3);
  EXPECT_EQ(timeline.steps.pages_free[0], 5);
  ASSERT_EQ(timeline.phases.size(), 1u);
  const auto& phases = timeline.phases.at(0);
  ASSERT_EQ(phases.size(), 3u);
  EXPECT_EQ(phases[0].kind, report::RequestPhase::Kind::kQueue);
  EXPECT_NEAR(phases[0].start, 0.4, 1e-9);
  EXPECT_EQ(phases[1].tokens, 64);
  EXPECT_EQ(phases[2].tokens, 3);
  EXPECT_NEAR(phases[2].end, 0.6, 1e-9);
}

TEST(StepTimeline, WithoutAClockItIsRefused) {
  const auto timeline = read_step_timeline("[\n{\"ph\":\"X\",\"name\":\"step\",\"ts\":1}\n", kStarted, 5.0, {});
  ASSERT_FALSE(timeline);
  EXPECT_NE(timeline.error().message.find("trace_start"), std::string::npos);
}

TEST(StepTimeline, BytesThatAreNoTraceDoNoHarm) {
  for (std::size_t cut = 0; cut < kTrace.size(); cut += 7) {
    std::string text(kTrace);
    text[cut] = '"';
    static_cast<void>(read_step_timeline(text, kStarted, 5.0, records()));
    static_cast<void>(read_step_timeline(kTrace.substr(0, cut), kStarted, 5.0, records()));
  }
}

}  // namespace
}  // namespace millrace::loadtest

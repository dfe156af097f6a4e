#include "server/observe/step_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "server/observe/testing/observed_run.h"

namespace millrace::server::observe {
namespace {

class StepTraceTest : public testing::Test {
 protected:
  void serve(const StepTrace::Config& config, int requests = 4) {
    run_.env.time = TimePoint(std::chrono::hours(1));
    auto trace = StepTrace::create(files_, "trace.json", config).or_throw();
    run_.engine->reporter().observe([&](const engine::StepReport& report) { trace->step("ti\"ny", report); });
    run_.on_end = [&](const RequestRecord& record) {
      RequestRecord named = record;
      named.model = "ti\"ny";
      trace->request(named);
    };
    for (int i = 0; i < requests; ++i) run_.submit(50 + i, 6, i % 15);
    run_.run();
    dropped_ = trace->dropped();
    run_.engine->reporter().observe({});
    trace.reset();
  }
  ObservedRun run_{64, 2};
  MemoryEnv files_;  // its clock stands still at zero: times count from there
  std::int64_t dropped_ = 0;
};

TEST_F(StepTraceTest, WritesEventsThatParseAndNest) {
  serve({});
  const auto events = nlohmann::json::parse(files_.files.at("trace.json"));
  std::map<std::string, int> names;
  std::map<std::string, std::vector<std::string>> open;  // by track
  double last_step = 0.0, step_end = 0.0, phase_end = 0.0;
  for (const auto& event : events) {
    const std::string kind = event.at("ph"), name = event.at("name");
    ++names[name + " " + kind];
    EXPECT_TRUE(event.at("pid").is_number_integer());
    EXPECT_NE(std::string("MXbe").find(kind), std::string::npos) << kind;
    if (kind == "b" || kind == "e") {
      EXPECT_FALSE(event.at("cat").get<std::string>().empty());
    }
    if (kind == "X") {
      EXPECT_GE(event.at("dur").get<double>(), 0.0);
      if (name == "step") {
        EXPECT_GE(event.at("ts").get<double>(), step_end);
        last_step = event.at("ts");
        step_end = last_step + event.at("dur").get<double>();
        phase_end = last_step;
      } else {  // a phase of the step before it, and none reaches into another, added as viewers add
        EXPECT_GE(event.at("ts").get<double>(), phase_end) << name;
        phase_end = event.at("ts").get<double>() + event.at("dur").get<double>();
        EXPECT_LE(phase_end, step_end) << name;
      }
    }
    if (kind == "b") open[event.at("id")].push_back(name);
    if (kind == "e") {
      ASSERT_FALSE(open[event.at("id")].empty());
      EXPECT_EQ(open[event.at("id")].back(), name);
      open[event.at("id")].pop_back();
    }
  }
  EXPECT_EQ(open.size(), 4u);
  EXPECT_EQ(names["queue b"], 4);
  EXPECT_EQ(names["decode b"], 4);
  EXPECT_GE(names["prefill b"], 8);  // prompts of fifty tokens in steps of thirty-two
  EXPECT_EQ(names["step X"], names["forward X"]);
  EXPECT_EQ(names["step X"], run_.engine->counters().steps);
  EXPECT_EQ(dropped_, 0);
}

TEST_F(StepTraceTest, NoEventReachesIntoAnotherHoweverTimesRound) {
  auto trace = StepTrace::create(files_, "trace.json", {}).or_throw();
  std::mt19937 random(1);
  const auto some = [&] { return std::chrono::nanoseconds(1 + random() % 300'000'000); };
  const auto ms = [](std::chrono::nanoseconds time) { return static_cast<double>(time.count()) / 1e6; };
  TimePoint now{};
  for (int i = 0; i < 200; ++i) {
    const auto schedule = some(), prepare = some(), forward = some(), commit = some();
    engine::StepReport report;
    report.start = now;
    report.end = now += schedule + prepare + forward + commit;
    report.schedule_ms = ms(schedule);
    report.prepare_ms = ms(prepare);
    report.forward_ms = ms(forward);
    report.commit_ms = ms(commit);
    trace->step("tiny", report);
  }
  trace.reset();
  double step_end = 0.0, phase_end = 0.0;
  for (const auto& event : nlohmann::json::parse(files_.files.at("trace.json"))) {
    if (event.at("ph") != "X") continue;
    const double begin = event.at("ts"), end = begin + event.at("dur").get<double>();  // as viewers add
    const bool step = event.at("name") == "step";
    EXPECT_GE(begin, step ? step_end : phase_end);
    if (!step) {
      EXPECT_LE(end, step_end);
    }
    (step ? step_end : phase_end) = end;
  }
  EXPECT_GT(step_end, 1e6);
}

TEST_F(StepTraceTest, EndsAtItsLimitAndIsStillWhole) {
  serve({.max_bytes = 4000}, 20);
  const std::string& text = files_.files.at("trace.json");
  EXPECT_LE(text.size(), 4000u);
  EXPECT_GT(nlohmann::json::parse(text).size(), 3u);
}

TEST_F(StepTraceTest, AFullDiskEndsTracingOnly) {
  files_.disk_bytes = 3000;
  serve({}, 20);
  EXPECT_EQ(run_.records.size(), 20u);
  EXPECT_LE(files_.files.at("trace.json").size(), 3000u);
}

}  // namespace
}  // namespace millrace::server::observe

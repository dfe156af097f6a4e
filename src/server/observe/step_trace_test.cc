#include "server/observe/step_trace.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "server/observe/observed_run.h"

namespace millrace::server::observe {
namespace {

class StepTraceTest : public testing::Test {
 protected:
  void serve(const StepTrace::Config& config, int requests = 4) {
    run_.env.time = TimePoint(std::chrono::hours(1));
    auto trace = StepTrace::create(files_, "trace.json", config).or_throw();
    run_.engine->observe([&](const engine::StepReport& report) { trace->step("ti\"ny", report); });
    run_.on_end = [&](const RequestRecord& record) {
      RequestRecord named = record;
      named.model = "ti\"ny";
      trace->request(named);
    };
    for (int i = 0; i < requests; ++i) run_.submit(50 + i, 6, i % 15);
    run_.run();
    dropped_ = trace->dropped();
    run_.engine->observe({});
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
  double last_step = 0.0, step_end = 0.0;
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
        EXPECT_GE(event.at("ts").get<double>(), last_step);
        last_step = event.at("ts");
        step_end = last_step + event.at("dur").get<double>();
      } else {  // a phase of the step before it, to a tenth of a microsecond as written
        EXPECT_GE(event.at("ts").get<double>(), last_step - 0.1) << name;
        EXPECT_LE(event.at("ts").get<double>() + event.at("dur").get<double>(), step_end + 0.1) << name;
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

TEST_F(StepTraceTest, EndsAtItsLimitAndIsStillWhole) {
  serve({.most_bytes = 4000}, 20);
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

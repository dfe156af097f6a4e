#include "loadtest/report/earlier_run.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace millrace::loadtest::report {
namespace {

Json run(double ttft, double rate) {
  return {{"schema", "millrace.bench.serve"},
          {"date", "2026-11-25T10:00:00Z"},
          {"model_id", "m"},
          {"request_rate", rate},
          {"completed", 10},
          {"total_input_tokens", 100},
          {"target", {{"server", "millrace"}, {"version", "0.1.0"}}},
          {"load", {{"workload", "random"}, {"users", 0}}},
          {"estimates", {{"median_ttft_ms", {{"value", ttft}, {"low", ttft - 1}, {"high", ttft + 1}}}}}};
}

TEST(EarlierRun, SaysWhatDiffersBetweenTheLoads) {
  Json now = run(20, 4), then = run(10, 8);
  then["total_input_tokens"] = 103;  // within what chance does
  then["load"]["workload"] = nullptr;
  EXPECT_EQ(earlier_json(now, then, "x.json")["differences"],
            Json::array({"workload: random now, not known then", "requests a second: 4 now, 8 then"}));
  now["total_input_tokens"] = 200;
  EXPECT_EQ(earlier_json(now, now, "x.json")["differences"], Json::array());
  now["total_cached_tokens"] = 100, then["total_cached_tokens"] = 0;
  EXPECT_EQ(earlier_json(now, then, "x.json")["differences"].back(),
            "prompt tokens from the prefix cache: 50 % now, 0 % then");
  now["total_cached_tokens"] = nullptr;
  EXPECT_EQ(earlier_json(now, then, "x.json")["differences"].back(), "prompt tokens of a request: 20 now, 10.3 then");
}

TEST(EarlierRun, IsShownWithItsChangesAndWhetherTheyAreBeyondChance) {
  Json report = run(20, 4);
  EXPECT_EQ(earlier_text(report), "");
  report["earlier"] = earlier_json(report, run(10, 4), "x.json");
  EXPECT_NE(earlier_text(report).find("Beside x.json of 2026-11-25T10:00:00Z"), std::string::npos);
  EXPECT_NE(earlier_text(report).find("+100.0 %, intervals apart"), std::string::npos) << earlier_text(report);
  report["earlier"] = earlier_json(report, run(19.5, 4), "x.json");
  EXPECT_EQ(earlier_text(report).find("apart"), std::string::npos);
}

TEST(EarlierRun, IsShownOfReportsThatLackAnything) {
  Json report = run(20, 4);
  report["earlier"] = earlier_json(report, {{"schema", "millrace.bench.serve"}}, "x.json");
  EXPECT_NE(earlier_text(report).find("of not known"), std::string::npos);
}

TEST(EarlierRun, IsNoOtherFile) {
  const std::filesystem::path file = std::filesystem::path(testing::TempDir()) / "millrace_earlier_run.json";
  for (const char* text : {"", "[]", "{}", R"({"schema": "millrace.bench.sweep"})", R"({"schema": 7})"}) {
    std::ofstream(file) << text;
    const auto read = read_earlier_run(file.string());
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kBadFile);
    EXPECT_NE(read.error().message.find("compare-with"), std::string::npos);
  }
  std::filesystem::remove(file);
  EXPECT_EQ(read_earlier_run(file.string()).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace millrace::loadtest::report

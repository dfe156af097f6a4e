#include "loadtest/report/write_reports.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/error.h"

namespace millrace::loadtest::report {
namespace {

TEST(WriteReports, WritesEachFormBesideTheReportAndReplacesThem) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "millrace_write_reports";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const Json report = Json::parse(R"({"schema": "millrace.bench.compare", "verdict": "no regression",
    "rounds": [{"order": "AB", "a": {"m": 1}, "b": {"m": 1}, "noise": "quiet"}], "verdicts": [{"metric": "m", "ratio": {"value": 1}}]})");
  const std::string stem = (folder / "run").string();
  const std::vector<std::string> expected = {stem + ".csv", stem + ".md"};
  EXPECT_EQ(write_beside(report, stem + ".html"), expected);
  EXPECT_EQ(write_beside(report, stem), expected);
  std::ifstream csv(stem + ".csv");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(csv), {}), "round,order,noise,metric,a,b\n1,AB,quiet,m,1,1\n");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
  EXPECT_THROW(write_beside(report, (folder / "none" / "run").string()), LoadError);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace millrace::loadtest::report

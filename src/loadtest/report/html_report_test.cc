#include "loadtest/report/html_report.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "loadtest/report/report_page.h"

namespace millrace::loadtest {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr std::string_view kPage = "<p>$&</p><script>\"MILLRACE_REPORT\"</script><p>end</p>";
constexpr std::string_view kBefore = "<p>$&</p><script>", kAfter = "</script><p>end</p>";

// What stands in the place, as text; fails where the page around it has changed.
std::string embedded(const ordered_json& report, std::size_t most = kMaxEmbeddedBytes) {
  const std::string filled = fill_report_page(kPage, report, most);
  EXPECT_TRUE(filled.starts_with(kBefore));
  EXPECT_TRUE(filled.ends_with(kAfter));
  return filled.substr(kBefore.size(), filled.size() - kBefore.size() - kAfter.size());
}

TEST(HtmlReport, NoTextOfTheReportEndsTheElement) {
  const ordered_json report = {{"error", "</script><script>alert('x')</script> <!-- \"quoted\" \\ back"},
                               {"</script>", "in a key"}};
  const std::string text = embedded(report);
  EXPECT_EQ(text.find('<'), std::string::npos);
  EXPECT_EQ(ordered_json::parse(text), report);
}

TEST(HtmlReport, LineSeparatorsOfJavaScriptAreEscapedAndOtherTextIsKept) {
  const ordered_json report = {{"text", "a\u2028b\u2029c\u2027d\u202ae Größe 漢字\n"}};
  const std::string text = embedded(report);
  EXPECT_NE(text.find("a\\u2028b\\u2029c"), std::string::npos);
  EXPECT_NE(text.find("Größe 漢字"), std::string::npos);
  EXPECT_EQ(ordered_json::parse(text), report);
}

TEST(HtmlReport, ThePlaceIsFilledOnceAndTheReportMayNameIt) {
  const ordered_json report = {{"label", "MILLRACE_REPORT"}};
  EXPECT_EQ(embedded(report), R"({"label":"MILLRACE_REPORT"})");
}

TEST(HtmlReport, BytesThatAreNoTextDoNotStopIt) {
  const std::string text = embedded({{"error", "cut \xe6\xbc here"}, {"rate", std::nan("")}});
  EXPECT_NE(ordered_json::parse(text)["error"].get<std::string>().find("\uFFFD"), std::string::npos);
  EXPECT_TRUE(ordered_json::parse(text)["rate"].is_null());
}

TEST(HtmlReport, GapsAreLeftOutWhereTheReportIsTooLarge) {
  const ordered_json report = {{"duration", 1.5}, {"itls", ordered_json::array({{0.1, 0.2}, {0.3}})}, {"failed", 0}};
  EXPECT_EQ(ordered_json::parse(embedded(report)), report);
  EXPECT_EQ(embedded(report, 20), R"({"duration":1.5,"itls":null,"failed":0})");
  EXPECT_EQ(embedded({{"duration", 1.5}}, 3), R"({"duration":1.5})");
}

class HtmlReportFile : public testing::Test {
 protected:
  void SetUp() override { fs::create_directories(directory_); }
  void TearDown() override { fs::remove_all(directory_); }
  const fs::path directory_ = fs::temp_directory_path() / ("html_report_" + std::to_string(::getpid()));
  const std::string path_ = (directory_ / "r.html").string();
};

TEST_F(HtmlReportFile, IsThePageWithTheReport) {
  if (report_page().empty()) GTEST_SKIP() << "this build has no report page: it was built without npm";
  const ordered_json report = {{"schema", "millrace.bench.serve"}, {"schema_version", 1}, {"model_id", "</script>"}};
  write_html_report(report, path_);
  std::stringstream text;
  text << std::ifstream(path_).rdbuf();
  EXPECT_EQ(text.str(), fill_report_page(report_page(), report));
  EXPECT_TRUE(text.str().starts_with("<!doctype html>"));
  EXPECT_NE(text.str().find("default-src 'none'"), std::string::npos);
  EXPECT_NE(text.str().find(R"("model_id":"\u003c/script>")"), std::string::npos);
  EXPECT_FALSE(fs::exists(path_ + ".tmp"));
}

TEST_F(HtmlReportFile, SaysWhyItCannotBeWritten) {
  const std::string nowhere = (directory_ / "not" / "there.html").string();
  try {
    write_html_report({{"schema", "millrace.bench.serve"}}, nowhere);
    FAIL() << "wrote " << nowhere;
  } catch (const LoadError& error) {
    EXPECT_EQ(error.error().param, nowhere);
    const std::string_view why = report_page().empty() ? "built without npm" : "cannot be created";
    EXPECT_NE(error.error().message.find(why), std::string::npos) << error.error().message;
  }
}

}  // namespace
}  // namespace millrace::loadtest

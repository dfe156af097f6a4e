#include "metrics/prometheus_text.h"

#include <gtest/gtest.h>

namespace millrace::metrics {
namespace {

TEST(MetricsReading, ReadsValuesLabelsAndEscapes) {
  const auto reading = MetricsReading::parse(
      "# HELP a of a\n# TYPE a counter\na{x=\"1\",y=\"quote \\\" and \\n\"} 2.5e1\na{x=\"2\"} 1 1700000000\r\nb 3\n\nc "
      "+Inf\n");
  ASSERT_TRUE(reading) << reading.error().message;
  EXPECT_EQ(reading->sum("a"), 26.0);
  EXPECT_EQ(reading->sum("a", {{"x", "1"}}), 25.0);
  EXPECT_EQ(reading->samples().at("a").front().labels.at("y"), "quote \" and \n");
  EXPECT_EQ(reading->sum("b"), 3.0);
  EXPECT_EQ(reading->sum("none"), 0.0);
}

TEST(MetricsReading, RefusesWhatIsNoTextFormat) {
  for (const char* text : {"a", "a{", "a{x=\"1\"", "a{x} 1", "a one", "<html>", "{x=\"1\"} 1", "a{x=\"1\"}2"}) {
    EXPECT_FALSE(MetricsReading::parse(text)) << text;
  }
}

TEST(MetricsReading, TakesQuantilesOfWhatCameBetween) {
  const auto before = MetricsReading::parse("h_bucket{le=\"1\"} 10\nh_bucket{le=\"2\"} 10\nh_bucket{le=\"+Inf\"} 10\n");
  const auto after = MetricsReading::parse("h_bucket{le=\"1\"} 10\nh_bucket{le=\"2\"} 14\nh_bucket{le=\"+Inf\"} 14\n");
  const auto past = MetricsReading::parse("h_bucket{le=\"1\"} 10\nh_bucket{le=\"2\"} 10\nh_bucket{le=\"+Inf\"} 12\n");
  EXPECT_DOUBLE_EQ(histogram_quantile(0.5, before->buckets("h"), after->buckets("h")), 1.5);
  EXPECT_DOUBLE_EQ(histogram_quantile(0.5, {}, before->buckets("h")), 0.5);
  EXPECT_DOUBLE_EQ(histogram_quantile(0.5, before->buckets("h"), before->buckets("h")), 0.0);
  EXPECT_DOUBLE_EQ(histogram_quantile(0.5, before->buckets("h"), past->buckets("h")), 2.0);
}

}  // namespace
}  // namespace millrace::metrics

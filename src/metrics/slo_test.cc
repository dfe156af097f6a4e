#include "metrics/slo.h"

#include <gtest/gtest.h>

namespace millrace::metrics {
namespace {

TEST(Slo, WordsAreOneSloAndASlashBeginsTheNext) {
  const auto one = parse_slos("goodput", std::vector<std::string>{"ttft:1000", "tpot:150", "e2el:5000"});
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one->size(), 1u);
  EXPECT_EQ((*one)[0].str(), "ttft 1000 ms, tpot 150 ms, latency 5000 ms");
  const auto two = parse_slos("goodput", std::vector<std::string>{"ttft:200,tpot:50/ttft:1000", "tpot:150.5"});
  ASSERT_TRUE(two.ok());
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0].str(), "ttft 200 ms, tpot 50 ms");
  EXPECT_EQ((*two)[1].str(), "ttft 1000 ms, tpot 150.5 ms");
  EXPECT_TRUE(parse_slos("goodput", {})->empty());
}

TEST(Slo, ASlashMayBeAWordOfItsOwn) {
  const auto two = parse_slos("goodput", std::vector<std::string>{"ttft:200", "tpot:50", "/", "ttft:1000"});
  ASSERT_TRUE(two);
  ASSERT_EQ(two->size(), 2u);
  EXPECT_EQ((*two)[0].tpot_ms, 50.0);
  EXPECT_EQ((*two)[1].ttft_ms, 1000.0);
  EXPECT_FALSE(parse_slos("goodput", std::vector<std::string>{"/", "ttft:1000"}));
}

TEST(Slo, WhatIsNoSloIsRejectedNamingTheFlag) {
  for (const char* text : {"", "ttft", "ttft:", "ttft:x", "ttft:-1", "ttft:0", "ttft:5ms", "itl:5", "ttft:nan",
                           "ttft:inf", "ttft:5,,tpot:5", "ttft:5//tpot:5", "/ttft:5", "ttft:5,ttft:6"}) {
    const auto parsed = parse_slos("goodput", std::vector<std::string>{text});
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(parsed.error().param, "goodput");
    EXPECT_NE(parsed.error().message.find("goodput"), std::string::npos);
  }
}

TEST(Slo, EveryPartMustBeKept) {
  EXPECT_TRUE((Slo{.ttft_ms = 501, .tpot_ms = 101, .latency_ms = 701}.met(500, 100, 700)));
  EXPECT_TRUE(Slo{}.met(500, 100, 700));
  EXPECT_FALSE((Slo{.ttft_ms = 499}.met(500, 100, 700)));
  EXPECT_FALSE((Slo{.ttft_ms = 501, .tpot_ms = 99}.met(500, 100, 700)));
  EXPECT_FALSE((Slo{.latency_ms = 699}.met(500, 100, 700)));
}

}  // namespace
}  // namespace millrace::metrics

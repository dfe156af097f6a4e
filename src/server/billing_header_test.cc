#include "server/billing_header.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

constexpr std::string_view kLine = "x-anthropic-billing-header: cc_version=2.1.76.b57; cc_entrypoint=cli; cch=e90a5;";

TEST(BillingHeader, IsTheFirstLineWithItsEnd) {
  const std::string line(kLine);
  EXPECT_EQ(billing_header_bytes(line), line.size());
  EXPECT_EQ(billing_header_bytes(line + "\n"), line.size() + 1);
  EXPECT_EQ(billing_header_bytes(line + "\r\nYou are"), line.size() + 2);
  EXPECT_EQ(billing_header_bytes(line + "\nYou are; a=b"), line.size() + 1);
  EXPECT_EQ(billing_header_bytes("x-anthropic-billing-header: cch=1"), 33u);  // without the last semicolon
}

TEST(BillingHeader, IsNothingElseThatBeginsAlike) {
  for (const char* text :
       {"", "x-anthropic-billing-header", "x-anthropic-billing-header:", "x-anthropic-billing-header: \n",
        "x-anthropic-billing-header: is a header of Claude Code", "x-anthropic-billing-header: cch=1; and so on",
        "x-anthropic-billing-header: =1;", "x-anthropic-billing-header: ;", "x-anthropic-billing-header: a=1;;",
        " x-anthropic-billing-header: cch=1;", "X-Anthropic-Billing-Header: cch=1;",
        "You are\nx-anthropic-billing-header: cch=1;"}) {
    EXPECT_EQ(billing_header_bytes(text), 0u) << text;
  }
}

}  // namespace
}  // namespace millrace::server

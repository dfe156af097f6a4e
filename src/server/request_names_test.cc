#include "server/request_names.h"

#include <gtest/gtest.h>

namespace millrace::server {
namespace {

TEST(RequestNames, AHostIsKnownWithoutCasePortAndLastDot) {
  EXPECT_EQ(host_name("LocalHost.:8000"), "localhost");
  EXPECT_EQ(host_name("a.Example"), "a.example");
  EXPECT_EQ(host_name("[::1]:8000"), "[::1]");
  EXPECT_EQ(host_name("[::1]"), "[::1]");
  EXPECT_EQ(host_name("a:"), "a");
  EXPECT_EQ(host_name("a.."), "a.");
  EXPECT_EQ(host_name(""), "");
  EXPECT_TRUE(is_local(host_name("127.0.0.1:1")));
  EXPECT_FALSE(is_local(host_name("localhost.evil.example")));
  EXPECT_EQ(after_scheme("https://app.example:1"), "app.example:1");
}

TEST(RequestNames, AllKeysAreShownInTheirOrder) {
  http::Headers headers;
  headers.add("x-api-key", "a");
  headers.add("authorization", "BEARER   b");
  headers.add("authorization", "Basic c");
  headers.add("authorization", "Bearer");
  headers.add("authorization", "Bearer ");
  headers.add("authorization", "Bearerd");
  headers.add("x-api-key", "");
  headers.add("x-api-key", "e f");
  EXPECT_EQ(shown_keys(headers), (std::vector<std::string_view>{"a", "b", "e f"}));
  EXPECT_TRUE(shown_keys({}).empty());
}

}  // namespace
}  // namespace millrace::server

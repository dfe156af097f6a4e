#include "http/request_head.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace millrace::http {
namespace {

using namespace std::string_view_literals;

int status_of(std::string_view head) { return check_head(head, Limits{}).status; }

TEST(RequestHead, TakesWhatClientsSend) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), 0);
  EXPECT_EQ(status_of("POST /v1/x?y=%20z HTTP/1.1\r\nHost: a:1\r\nContent-Length: 12\r\nX-Any:\tvalue \r\n\r\n"), 0);
  EXPECT_EQ(status_of("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: Chunked\r\n\r\n"), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 0);  // had no host yet
}

TEST(RequestHead, RefusesLinesThatParsersReadDifferently) {
  EXPECT_EQ(status_of("GET / HTTP/1.1\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\n\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\n folded\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost : a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n"sv), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n"), 400);
}

TEST(RequestHead, RefusesTwoWaysToSayWhereTheBodyEnds) {
  constexpr std::string_view kBegin = "POST / HTTP/1.1\r\nHost: a\r\n";
  const auto with = [&](std::string_view fields) {
    return status_of(std::string(kBegin) + std::string(fields) + "\r\n");
  };
  EXPECT_EQ(with("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(with("Content-Length: 1\r\nContent-Length: 1\r\n"), 400);
  EXPECT_EQ(with("Content-Length: 1, 1\r\n"), 400);
  EXPECT_EQ(with("Content-Length: +1\r\n"), 400);
  EXPECT_EQ(with("Content-Length: \r\n"), 400);
  EXPECT_EQ(with("Content-Length: 9999999999999999999\r\n"), 400);
  EXPECT_EQ(with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 400);
  EXPECT_EQ(with("Transfer-Encoding: gzip, chunked\r\n"), 501);
  EXPECT_EQ(status_of("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400);
}

TEST(RequestHead, RefusesTargetsHostsAndVersionsOfOthers) {
  EXPECT_EQ(status_of("GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET /#x HTTP/1.1\r\nHost: a\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/2.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("GET /\r\n\r\n"), 400);
}

TEST(RequestHead, TakesAHostWithOrWithoutAPort) {
  for (const char* host : {"localhost", "LocalHost:8000", "127.0.0.1:80", "a-b_c.example", "a.example.", "a:",
                           "a:65535", "[::1]", "[::1]:8000", "[2001:db8::1.2.3.4]", "xn--bcher-kva.example", "a%20b"}) {
    EXPECT_TRUE(is_authority(host)) << host;
  }
}

TEST(RequestHead, RefusesAHostThatIsNone) {
  for (const char* host : {"",
                           ":80",
                           "user@localhost",
                           "user:pw@localhost",
                           "localhost:pw@evil.example",
                           "localhost:abc",
                           "localhost:80:80",
                           "localhost:65536",
                           "localhost:-1",
                           "localhost:+1",
                           "localhost: 80",
                           "a b",
                           "a,b",
                           "/",
                           "a/b",
                           "a?b",
                           "a#b",
                           "a\\b",
                           "::1",
                           "[::1",
                           "::1]",
                           "[]",
                           "[]:80",
                           "[::1]x",
                           "[::1]80",
                           "[::1%25eth0]",
                           "[v1.a]",
                           "[127.0.0.1]",
                           "%",
                           "%4",
                           "%zz",
                           "a%2",
                           "b\xc3\xbc",
                           "http://a",
                           "<a>",
                           "a\"b"}) {
    EXPECT_FALSE(is_authority(host)) << host;
    if (*host != '\0') {
      EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n"), 400) << host;
    }
  }
}

TEST(RequestHead, OnlyTheOldVersionMayNameNoHost) {
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost:\r\n\r\n"), 0);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost:\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a@b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n"), 400);
}

TEST(RequestHead, CountsHeaders) {
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 99; ++i) head += "a: b\r\n";
  EXPECT_EQ(status_of(head + "\r\n"), 0);
  EXPECT_EQ(status_of(head + "a: b\r\n\r\n"), 431);
}

}  // namespace
}  // namespace millrace::http

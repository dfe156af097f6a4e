#include "http/request_head.h"

#include <gtest/gtest.h>

namespace millrace::http {
namespace {

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
  EXPECT_EQ(status_of(std::string_view("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 30)), 400);
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

TEST(RequestHead, CountsHeaders) {
  std::string head = "GET / HTTP/1.1\r\nHost: a\r\n";
  for (int i = 0; i < 99; ++i) head += "a: b\r\n";
  EXPECT_EQ(status_of(head + "\r\n"), 0);
  EXPECT_EQ(status_of(head + "a: b\r\n\r\n"), 431);
}

}  // namespace
}  // namespace millrace::http

#include "loadtest/target.h"

#include <gtest/gtest.h>

namespace millrace::loadtest {
namespace {

Target read_target(std::string_view text) {
  auto target = parse_target("--url", text);
  EXPECT_TRUE(target.ok()) << text << ": " << (target.ok() ? "" : target.error().message);
  return target.ok() ? *target : Target{};
}

TEST(Target, TakesUrls) {
  const Target plain = read_target("http://127.0.0.1:8123");
  EXPECT_EQ(plain.host, "127.0.0.1");
  EXPECT_EQ(plain.port, 8123);
  EXPECT_FALSE(plain.tls);
  EXPECT_EQ(plain.base_path, "");
  EXPECT_EQ(plain.url, "http://127.0.0.1:8123");
  const Target secure = read_target("https://models.example/base/path");
  EXPECT_EQ(secure.host, "models.example");
  EXPECT_EQ(secure.port, 443);
  EXPECT_TRUE(secure.tls);
  EXPECT_FALSE(secure.insecure);
  EXPECT_EQ(secure.base_path, "/base/path");
  EXPECT_EQ(read_target("http://a").port, 80);
}

TEST(Target, TakesHostsWithoutScheme) {
  EXPECT_EQ(read_target("box").port, 8000);
  EXPECT_EQ(read_target("box:1").port, 1);
  EXPECT_EQ(read_target("box:65535/x").base_path, "/x");
}

TEST(Target, DropsSlashesAndVersionAtTheEnd) {
  for (const char* text : {"http://a:1", "http://a:1/", "http://a:1/v1", "http://a:1/v1/", "a:1/v1//"}) {
    EXPECT_EQ(read_target(text).base_path, "") << text;
  }
  for (const char* text : {"http://a:1/b", "http://a:1/b/", "http://a:1/b/v1", "http://a:1/b/v1/"}) {
    EXPECT_EQ(read_target(text).base_path, "/b") << text;
  }
  EXPECT_EQ(read_target("a/bv1").base_path, "/bv1");
}

TEST(Target, TakesAddressesOfIpv6InBrackets) {
  EXPECT_EQ(read_target("http://[::1]:8000").host, "::1");
  EXPECT_EQ(read_target("[fe80::2]").port, 8000);
  EXPECT_EQ(read_target("https://[2001:db8::7]/v1").port, 443);
}

TEST(Target, TakesUnixSockets) {
  const Target target = read_target("unix:/run/millrace.sock");
  EXPECT_EQ(target.unix_socket, "/run/millrace.sock");
  EXPECT_EQ(target.host, "localhost");
  EXPECT_EQ(read_target("unix:///run/v1").unix_socket, "/run/v1");
  EXPECT_EQ(read_target("unix:local.sock").unix_socket, "local.sock");
}

TEST(Target, KnowsWhichNameOneServer) {
  const auto same = [](std::string_view a, std::string_view b) {
    EXPECT_EQ(same_server(read_target(a), read_target(b)), same_server(read_target(b), read_target(a)));
    return same_server(read_target(a), read_target(b));
  };
  EXPECT_TRUE(same("http://127.0.0.1:8000", "127.0.0.1:8000/v1"));
  EXPECT_TRUE(same("http://localhost:1", "http://[::1]:1"));
  EXPECT_TRUE(same("localhost:1", "127.0.0.1:1"));
  EXPECT_TRUE(same("http://Box/a", "http://box:80/b"));
  EXPECT_TRUE(same("unix:/run/a", "unix:/run/a"));
  EXPECT_FALSE(same("127.0.0.1:8000", "127.0.0.1:8001"));
  EXPECT_FALSE(same("a:1", "b:1"));
  EXPECT_FALSE(same("http://a", "https://a"));
  EXPECT_FALSE(same("unix:/run/a", "unix:/run/b"));
  EXPECT_FALSE(same("unix:/run/a", "localhost:8000"));
}

TEST(Target, SaysWhatItDoesNotUnderstand) {
  const std::string long_path = "unix:/" + std::string(107, 'x');
  const std::pair<std::string, std::string> cases[] = {
      {"", "host is missing"},
      {"http://", "host is missing"},
      {":80", "host is missing"},
      {"http://a:0", "from 1 to 65535"},
      {"http://a:65536", "from 1 to 65535"},
      {"http://a:", "from 1 to 65535"},
      {"http://a:8x", "from 1 to 65535"},
      {"http://a:-1", "from 1 to 65535"},
      {"http://::1", "brackets"},
      {"http://[::1", "']'"},
      {"http://[::1]8000", "after ']'"},
      {"http://[]:1", "host is missing"},
      {"http://me:secret@a", "user"},
      {"ftp://a", "expected http://"},
      {"http://a/?x=1", "query"},
      {"http://a#b", "query"},
      {"http://a b", "spaces"},
      {"http://a\r\nx: y", "spaces"},
      {"unix:", "bytes"},
      {long_path, "1 to 107 bytes"},
  };
  for (const auto& [text, why] : cases) {
    const auto target = parse_target("--url", text);
    ASSERT_FALSE(target.ok()) << text;
    EXPECT_EQ(target.error().param, "--url");
    EXPECT_EQ(target.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(target.error().message.find(why), std::string::npos) << text << ": " << target.error().message;
  }
}

}  // namespace
}  // namespace millrace::loadtest

#include "hub/transport.h"

#include <gtest/gtest.h>

#include "hub/testing/fake_hub.h"

namespace millrace::hub {
namespace {

class Transport : public testing::Test {
 protected:
  HubTransport::Text get(const std::string& url, std::uint64_t limit = 1000) {
    HubTransport transport(client_, settings_, {.seed = 1}, pause_, observer_);
    return transport.get_text(url, limit);
  }
  void redirect(const std::string& from, const std::string& to) {
    client_.routes[from] = [to](const http::HttpRequest&) {
      return FakeAnswer{.status = 302, .body = "moved", .headers = {{"location", to}}};
    };
  }
  static std::string failure(const HubTransport::Text& text) {
    return text.answer.failure() == nullptr ? "" : text.answer.failure()->message;
  }
  const std::string* authorization(std::size_t request) const {
    return client_.requests[request].headers.find("authorization");
  }

  FakeClient client_;
  FakePause pause_;
  FakeObserver observer_;
  HubSettings settings_{.endpoint = "https://hub.example", .token = "hf_x", .token_source = "HF_TOKEN"};
};

TEST_F(Transport, TheTokenGoesToTheEndpointAlone) {
  redirect("https://hub.example/a", "/b");
  redirect("https://hub.example/b", "https://hub.example:444/c");
  redirect("https://hub.example:444/c", "https://cdn.example/d");
  client_.serve("https://cdn.example/d", "text");
  const auto text = get("https://hub.example/a");
  EXPECT_EQ(text.body, "text");
  EXPECT_FALSE(text.answer.token_sent);
  ASSERT_EQ(client_.requests.size(), 4U);
  EXPECT_EQ(*authorization(0), "Bearer hf_x");
  EXPECT_EQ(*authorization(1), "Bearer hf_x");
  EXPECT_EQ(authorization(2), nullptr);  // the same host at another port is another server
  EXPECT_EQ(authorization(3), nullptr);
}

TEST_F(Transport, HostsThatLookLikeTheEndpointGetNoToken) {
  for (const char* target : {"https://hub.example.evil.example/x", "https://hub.example@evil.example/x",
                             "https://evil.example/hub.example", "//evil.example/x"}) {
    client_.requests.clear();
    redirect("https://hub.example/a", target);
    (void)get("https://hub.example/a");
    ASSERT_EQ(client_.requests.size(), 2U) << target;
    EXPECT_EQ(authorization(1), nullptr) << target;
  }
}

TEST_F(Transport, RedirectsEnd) {
  redirect("https://hub.example/a", "https://hub.example/a");
  EXPECT_EQ(failure(get("https://hub.example/a")), "more than 10 redirects");
  EXPECT_EQ(client_.requests.size(), 11U);
}

TEST_F(Transport, HttpsIsNotLeftForHttp) {
  redirect("https://hub.example/a", "http://hub.example/a");
  EXPECT_NE(failure(get("https://hub.example/a")).find("redirect from https"), std::string::npos);
  redirect("https://hub.example/a", "ftp://hub.example/a");
  EXPECT_NE(failure(get("https://hub.example/a")).find("http or https"), std::string::npos);
  EXPECT_EQ(client_.requests.size(), 2U);
}

TEST_F(Transport, ALongAnswerIsRefused) {
  client_.serve("https://hub.example/a", std::string(1001, 'x'));
  EXPECT_EQ(failure(get("https://hub.example/a")), "more than 1000 bytes");
}

TEST_F(Transport, ANameWithoutAddressIsNotTriedAgainUnlessAServerHasAnswered) {
  const FakeAnswer unresolved{.unresolved = true};
  client_.routes["https://hub.example/a"] = [&](const http::HttpRequest&) { return unresolved; };
  EXPECT_EQ(failure(get("https://hub.example/a")), "no such host");
  EXPECT_EQ(client_.requests.size(), 1U);
  EXPECT_TRUE(observer_.notes.empty());
  client_.serve("https://hub.example/b", "text");
  client_.before["https://hub.example/b"] = {{.status = 503}, unresolved, unresolved};
  EXPECT_EQ(get("https://hub.example/b").body, "text");
}

TEST_F(Transport, WaitsLongerEachTimeAndGivesUp) {
  client_.routes["https://hub.example/a"] = [](const http::HttpRequest&) { return FakeAnswer{.status = 503}; };
  EXPECT_EQ(get("https://hub.example/a").answer.response()->status, 503);
  EXPECT_EQ(client_.requests.size(), 5U);
  EXPECT_GE(pause_.slept.count(), (500 + 1000 + 2000 + 4000) / 2);
  EXPECT_LE(pause_.slept.count(), 500 + 1000 + 2000 + 4000);
}

TEST_F(Transport, WaitsAsLongAsTheServerAsksButAMinuteAtMost) {
  client_.serve("https://hub.example/a", "text");
  client_.before["https://hub.example/a"] = {{.status = 429, .headers = {{"retry-after", "7"}}}};
  EXPECT_EQ(get("https://hub.example/a").body, "text");
  EXPECT_EQ(pause_.slept.count(), 7000);
  client_.before["https://hub.example/a"] = {{.status = 429, .headers = {{"retry-after", "86400"}}}};
  EXPECT_EQ(get("https://hub.example/a").body, "text");
  EXPECT_EQ(pause_.slept.count(), 67'000);
}

TEST_F(Transport, DatesToWaitForAreRead) {
  http::HttpHeaders headers;
  headers.add("retry-after", "Tue, 14 Nov 2023 22:13:30 GMT");  // ten seconds from now
  EXPECT_EQ(retry_after(headers, pause_.now()), std::chrono::milliseconds(10'000));
  http::HttpHeaders past;
  past.add("retry-after", "Tue, 14 Nov 2000 22:13:30 GMT");
  EXPECT_EQ(retry_after(past, pause_.now()), std::chrono::milliseconds(0));
  http::HttpHeaders nonsense;
  nonsense.add("retry-after", "soon");
  EXPECT_EQ(retry_after(nonsense, pause_.now()), std::nullopt);
}

TEST_F(Transport, AnAnswerThatIsNoFailureOfTheServerIsNotAskedAgain) {
  for (const int status : {400, 401, 403, 404, 410}) {
    client_.requests.clear();
    client_.routes["https://hub.example/a"] = [status](const http::HttpRequest&) {
      return FakeAnswer{.status = status};
    };
    EXPECT_EQ(get("https://hub.example/a").answer.response()->status, status);
    EXPECT_EQ(client_.requests.size(), 1U);
  }
}

TEST_F(Transport, MessagesShowNeitherQueryNorUser) {
  const auto url = parse_url("https://me:secret@cdn.example:8443/a/b?Signature=secret#x").or_throw();
  EXPECT_EQ(url.shown, "https://cdn.example:8443/a/b");
  EXPECT_EQ(url.origin, "https://cdn.example:8443");
  EXPECT_EQ(parse_url("HTTPS://Hub.Example").or_throw().origin, "https://hub.example:443");
}

TEST(Url, EncodesWhatANameMayHold) {
  EXPECT_EQ(percent_encode("a b/c%?#\xC3\xA9", Slashes::kKeep), "a%20b/c%25%3F%23%C3%A9");
  EXPECT_EQ(percent_encode("refs/pr/1", Slashes::kEncode), "refs%2Fpr%2F1");
}

}  // namespace
}  // namespace millrace::hub

#include "server/observe/span_exporter.h"

#include <gtest/gtest.h>

#include <mutex>
#include <nlohmann/json.hpp>
#include <set>

#include "http/server.h"
#include "server/observe/testing/observed_run.h"

namespace millrace::server::observe {
namespace {

// A collector that keeps what it was sent.
class Sink final : public http::Application {
 public:
  std::optional<http::Reply> reject(const http::Request&) override { return std::nullopt; }
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake) override {
    const std::lock_guard lock(mutex);
    requests.push_back(std::move(request));
    return std::make_unique<http::ReadyReply>(http::Reply{.status = status, .body = "{}"});
  }
  http::Reply error(int code, std::string_view) override { return {.status = code}; }
  void finished(const http::Exchange&) override {}

  std::mutex mutex;
  std::vector<http::Request> requests;
  int status = 200;
};

class SpanExporterTest : public testing::Test {
 protected:
  SpanExporterTest() : server_(http::Server::start({.port = 0}, sink_).or_throw()) {}
  std::unique_ptr<SpanExporter> exporter() {
    return SpanExporter::create({.endpoint = "http://127.0.0.1:" + std::to_string(server_->port()),
                                 .headers = {{"x-key", "secret"}},
                                 .version = "1.2",
                                 .max_queued = 8,
                                 .period = std::chrono::milliseconds(5),
                                 .timeout = std::chrono::milliseconds(2000)},
                                Env::system())
        .or_throw();
  }
  RequestRecord record(const std::string& trace_parent = "") {
    ObservedRun run;
    const auto id = run.submit(20, 5);
    run.run();
    RequestRecord made = run.records.at(id);
    made.trace_parent = trace_parent;
    return made;
  }
  Sink sink_;
  std::unique_ptr<http::Server> server_;
};

std::string attribute(const nlohmann::json& span, const std::string& key) {
  for (const auto& entry : span.at("attributes")) {
    if (entry.at("key") == key) return entry.at("value").dump();
  }
  return "";
}

TEST_F(SpanExporterTest, SendsARequestWithItsPartsUnderItsCallersSpan) {
  exporter()->request(record("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
  ASSERT_EQ(sink_.requests.size(), 1u);
  const http::Request& request = sink_.requests.front();
  EXPECT_EQ(request.method, "POST");
  EXPECT_EQ(request.path, "/v1/traces");
  EXPECT_EQ(request.headers.get("content-type"), "application/json");
  EXPECT_EQ(request.headers.get("x-key"), "secret");
  const auto message = nlohmann::json::parse(request.body);
  const auto& spans = message.at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans");
  ASSERT_EQ(spans.size(), 4u);
  const auto& root = spans.at(0);
  EXPECT_EQ(root.at("parentSpanId"), "b7ad6b7169203331");
  EXPECT_EQ(attribute(root, "gen_ai.usage.prompt_tokens"), R"({"intValue":"20"})");
  EXPECT_EQ(attribute(root, "gen_ai.usage.completion_tokens"), R"({"intValue":"5"})");
  EXPECT_EQ(attribute(root, "gen_ai.response.model"), R"({"stringValue":"tiny"})");
  EXPECT_NE(attribute(root, "gen_ai.latency.time_to_first_token"), "");
  std::set<std::string> names;
  std::string last_end = root.at("startTimeUnixNano");
  for (std::size_t i = 1; i < spans.size(); ++i) {
    EXPECT_EQ(spans[i].at("traceId"), "0af7651916cd43dd8448eb211c80319c");
    EXPECT_EQ(spans[i].at("parentSpanId"), root.at("spanId"));
    EXPECT_EQ(spans[i].at("startTimeUnixNano"), last_end);
    last_end = spans[i].at("endTimeUnixNano");
    names.insert(spans[i].at("name").get<std::string>());
  }
  EXPECT_EQ(last_end, root.at("endTimeUnixNano").get<std::string>());
  EXPECT_EQ(names, (std::set<std::string>{"queue", "prefill", "decode"}));
}

TEST_F(SpanExporterTest, SendsNothingWhereTheCallerDoesNotSample) {
  exporter()->request(record("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"));
  EXPECT_TRUE(sink_.requests.empty());
}

TEST_F(SpanExporterTest, DropsAndCountsWhatTheCollectorDoesNotTake) {
  sink_.status = 503;
  const auto sending = exporter();
  const RequestRecord one = record();
  for (int i = 0; i < 50; ++i) sending->request(one);
  for (int i = 0; i < 2000 && sending->dropped() < 50; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(sending->dropped(), 50);
}

TEST_F(SpanExporterTest, RefusesWhatIsNoAddress) {
  for (const char* endpoint : {"", "localhost:4318", "ftp://host", "http://"}) {
    EXPECT_FALSE(SpanExporter::create({.endpoint = endpoint}, Env::system())) << endpoint;
  }
}

TEST(TraceContext, ReadsValidHeadersOnly) {
  const auto context = parse_trace_parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
  ASSERT_TRUE(context);
  EXPECT_TRUE(context->sampled);
  EXPECT_TRUE(parse_trace_parent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00-more"));
  for (const char* header : {"", "00", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                             "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                             "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                             "00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                             "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0",
                             "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
                             "00-0af7651916cd43dd8448eb211c80319c_b7ad6b7169203331-01"}) {
    EXPECT_FALSE(parse_trace_parent(header)) << header;
  }
}

}  // namespace
}  // namespace millrace::server::observe

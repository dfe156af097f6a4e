// Who may do what and which route answers, on engines without a model and without sockets.

#include "server/service.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>

#include "engine/engine_thread.h"
#include "server/testing/remote_engine.h"
#include "simulator/fake_executor.h"
#include "simulator/letter_tokenizer.h"

namespace millrace::server {
namespace {

constexpr std::chrono::seconds kPatience{20};  // for what must come, on a machine however busy

// Wakes whoever waits for a reply.
class Bell {
 public:
  http::Wake rope() {
    return [state = state_] {
      const std::lock_guard lock(state->mutex);
      state->rung = true;
      state->wake.notify_all();
    };
  }
  bool wait() {
    std::unique_lock lock(state_->mutex);
    const bool came = state_->wake.wait_for(lock, kPatience, [&] { return state_->rung; });
    state_->rung = false;
    return came;
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    bool rung = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

enum class Place { kHere, kFar };

// Every test runs on an engine in this process and on one that is somewhere else: a server cannot tell which.
class ServiceTest : public testing::TestWithParam<Place> {
 protected:
  // `step`: how long the model takes to compute one.
  void start(const std::string& keys = {}, ServiceConfig config = {}, std::chrono::milliseconds step = {}) {
    ModelEntry entry;
    entry.name = "letters";
    entry.aliases = {"other-name"};
    entry.load = [this, step](const std::function<void(double)>&) { return load(step); };
    std::vector<ModelEntry> entries;
    entries.push_back(std::move(entry));
    service_ = std::make_unique<Service>(config, Access::load(keys, {}, 1).or_throw(), std::move(entries), HostConfig{},
                                         observers_, Env::system());
    const auto end = Clock::now() + kPatience;
    while (service_->models().first().state != ModelState::kReady && Clock::now() < end) std::this_thread::yield();
    ASSERT_EQ(service_->models().first().state, ModelState::kReady);
  }

  ModelParts load(std::chrono::milliseconds step) {
    ModelParts parts;
    parts.tokenizer = simulator::letter_tokenizer();
    engine::StepObserver observer = observers_.watch({.name = "letters", .block_tokens = 16, .pages = 256});
    if (GetParam() == Place::kFar) {
      parts.engine = std::make_unique<RemoteEngine>(step);
      return parts;
    }
    const auto compute = [step](const engine::StepInput&, std::span<float>) -> Result<void> {
      std::this_thread::sleep_for(step);
      return {};
    };
    auto engine =
        engine::Engine::create(std::make_unique<simulator::FakeExecutor>(simulator::FakeExecutor::Config{}, compute),
                               parts.tokenizer, Env::system(), {})
            .or_throw();
    engine->reporter().observe(std::move(observer));
    parts.engine = std::make_unique<engine::EngineThread>(std::move(engine), parts.tokenizer, Env::system());
    return parts;
  }

  static http::Request request(std::string method, std::string path, std::string body = {}, std::string key = {}) {
    http::Request r{.method = std::move(method), .path = std::move(path), .body = std::move(body), .peer = "10.0.0.1"};
    r.headers.add("host", "localhost:8000");
    if (!key.empty()) r.headers.add("authorization", "Bearer " + key);
    if (!r.body.empty()) {
      r.headers.add("content-type", "application/json");
      r.headers.add("content-length", std::to_string(r.body.size()));
    }
    return r;
  }
  // As a connection does it: the head, then the whole.
  http::Reply ask(http::Request r) {
    if (auto rejected = service_->reject(r)) return std::move(*rejected);
    Bell bell;
    const auto responder = service_->handle(std::move(r), bell.rope());
    for (;;) {
      if (auto reply = responder->poll()) return std::move(*reply);
      if (!bell.wait()) {
        ADD_FAILURE() << "no reply";
        return {.status = 0};
      }
    }
  }
  static std::string code_of(const http::Reply& reply) {
    const Json body = Json::parse(reply.body, nullptr, false);
    return body.contains("error") ? body["error"].value("code", "") : "";
  }
  static std::string completion(int tokens, bool stream = false) {
    return fmt::format(R"({{"prompt":[1,2,3],"max_tokens":{},"ignore_eos":true,"temperature":0,"stream":{}}})", tokens,
                       stream);
  }
  std::int64_t running() { return service_->models().ready("letters")->engine->heartbeat().requests; }
  bool becomes_idle() {
    const auto end = Clock::now() + kPatience;
    while (running() > 0 && Clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return running() == 0;
  }

  observe::LogWriter writer_{{}};
  Observers observers_{{.log_requests = false}, writer_, Env::system()};
  std::unique_ptr<Service> service_;
};

TEST_P(ServiceTest, AnswersACompletionWholeAndAsAStreamWithTheSameText) {
  start();
  const http::Reply whole = ask(request("POST", "/v1/completions", completion(5)));
  ASSERT_EQ(whole.status, 200) << whole.body;
  const Json answer = Json::parse(whole.body);
  EXPECT_EQ(answer["usage"]["completion_tokens"], 5);
  EXPECT_EQ(answer["choices"][0]["finish_reason"], "length");

  Bell bell;
  const auto responder = service_->handle(request("POST", "/v1/completions", completion(5, true)), bell.rope());
  std::optional<http::Reply> reply;
  while (!(reply = responder->poll())) ASSERT_TRUE(bell.wait());
  ASSERT_TRUE(reply->stream);
  std::string events, text;
  while (reply->stream->take(events)) ASSERT_TRUE(bell.wait());
  EXPECT_TRUE(events.ends_with("data: [DONE]\n\n"));
  for (std::size_t at = 0; (at = events.find("data: {", at)) != std::string::npos; ++at) {
    text += Json::parse(events.substr(at + 6, events.find("\n\n", at) - at - 6))["choices"][0]["text"];
  }
  EXPECT_EQ(text, answer["choices"][0]["text"].get<std::string>());
}

TEST_P(ServiceTest, FindsRoutesByPathAndMethod) {
  start();
  EXPECT_EQ(ask(request("GET", "/v1/models")).status, 200);
  EXPECT_EQ(ask(request("HEAD", "/v1/models")).status, 200);
  EXPECT_EQ(ask(request("GET", "/v1/models/letters")).status, 200);
  EXPECT_EQ(ask(request("GET", "/v1/models/nobody")).status, 404);
  for (const char* path : {"/", "//v1/models", "/v1/models/", "/V1/models", "/v1/../v1/models", "/v1%2fmodels"}) {
    EXPECT_EQ(ask(request("GET", path)).status, 404) << path;
  }
  const http::Reply wrong = ask(request("GET", "/v1/completions"));
  EXPECT_EQ(wrong.status, 405);
  EXPECT_EQ(wrong.headers.get("allow"), "POST");
  EXPECT_EQ(ask(request("POST", "/v1/completions", R"({"prompt":[1],"model":"nobody"})")).status, 404);
  EXPECT_EQ(ask(request("POST", "/v1/completions", R"({"prompt":[1],"model":"other-name","max_tokens":1})")).status,
            200);
}

TEST_P(ServiceTest, RefusesBodiesThatAreNoJsonByTheirHead) {
  start();
  http::Request text{.method = "POST", .path = "/v1/completions", .peer = "10.0.0.1"};
  text.headers.add("host", "localhost");
  text.headers.add("content-type", "text/plain");
  text.headers.add("content-length", "10");
  EXPECT_EQ(ask(std::move(text)).status, 415);
  EXPECT_EQ(ask(request("POST", "/v1/completions", "{")).status, 400);
  EXPECT_EQ(code_of(ask(request("POST", "/v1/completions", R"({"prompt":[1],"max_tokens":0})"))), "invalid_value");
}

TEST_P(ServiceTest, AsksForAKeyBeforeItSaysWhatThereIs) {
  start("inferring-key scopes=infer\nmeasuring-key scopes=metrics");
  EXPECT_EQ(ask(request("GET", "/health")).status, 200);
  EXPECT_EQ(ask(request("GET", "/ready")).status, 200);
  for (const char* path : {"/v1/models", "/nowhere", "/metrics", "/openapi.json"}) {
    EXPECT_EQ(ask(request("GET", path)).status, 401) << path;
    EXPECT_EQ(ask(request("GET", path, "", "wrong-key")).status, 401) << path;
  }
  EXPECT_EQ(ask(request("GET", "/v1/models", "", "inferring-key")).status, 200);
}

TEST_P(ServiceTest, OpensToAKeyWhatItsScopesName) {
  start("inferring-key scopes=infer\nmeasuring-key scopes=metrics");
  EXPECT_EQ(ask(request("GET", "/metrics", "", "measuring-key")).status, 200);
  EXPECT_EQ(code_of(ask(request("GET", "/metrics", "", "inferring-key"))), "scope_missing");
  EXPECT_EQ(ask(request("POST", "/v1/completions", completion(1), "inferring-key")).status, 200);
  EXPECT_EQ(code_of(ask(request("POST", "/v1/completions", completion(1), "measuring-key"))), "scope_missing");
}

TEST_P(ServiceTest, OpensMetricsToEverybodyWhereToldSo) {
  start("inferring-key", {.open_metrics = true});
  EXPECT_EQ(ask(request("GET", "/metrics")).status, 200);
  EXPECT_EQ(ask(request("GET", "/v1/models")).status, 401);
}

TEST_P(ServiceTest, WhoKeepsGuessingKeysHasToWait) {
  start("inferring-key");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(request("GET", "/v1/models", "", "guess")).status, 401);
  EXPECT_EQ(code_of(ask(request("GET", "/v1/models", "", "guess"))), "too_many_failures");
  EXPECT_EQ(ask(request("GET", "/v1/models", "", "inferring-key")).status, 200);
}

TEST_P(ServiceTest, ATenantBeyondItsQuotaIsToldWhenToComeBack) {
  start("first-key tenant=a rpm=2\nsecond-key tenant=b");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ask(request("POST", "/v1/completions", completion(1), "first-key")).status, 200);
  }
  const http::Reply over = ask(request("POST", "/v1/completions", completion(1), "first-key"));
  EXPECT_EQ(over.status, 429);
  EXPECT_EQ(code_of(over), "quota_exceeded");
  EXPECT_FALSE(over.headers.get("retry-after").empty());
  EXPECT_EQ(ask(request("POST", "/v1/completions", completion(1), "second-key")).status, 200);
}

TEST_P(ServiceTest, APlaceAmongATenantsRequestsComesBackWhenItsClientLeaves) {
  start("first-key tenant=a concurrent=1", {}, std::chrono::milliseconds(2));
  Bell bell;
  auto streaming =
      service_->handle(request("POST", "/v1/completions", completion(4000, true), "first-key"), bell.rope());
  EXPECT_EQ(ask(request("POST", "/v1/completions", completion(1), "first-key")).status, 429);
  std::optional<http::Reply> reply;
  while (!(reply = streaming->poll())) ASSERT_TRUE(bell.wait());
  streaming.reset();
  reply.reset();  // with its stream
  EXPECT_TRUE(becomes_idle());
  EXPECT_EQ(ask(request("POST", "/v1/completions", completion(1), "first-key")).status, 200);
}

TEST_P(ServiceTest, HostsAndOriginsThatNobodyAllowedAreTurnedAway) {
  start("", {.allowed_hosts = {"localhost"}, .allowed_origins = {"https://app.example"}});
  http::Request foreign{.method = "GET", .path = "/health", .peer = "127.0.0.1"};
  foreign.headers.add("host", "evil.example");
  EXPECT_EQ(code_of(ask(std::move(foreign))), "host_not_allowed");
  http::Request page = request("GET", "/v1/models");
  page.headers.add("origin", "https://evil.example");
  EXPECT_EQ(code_of(ask(std::move(page))), "origin_not_allowed");
  http::Request preflight = request("OPTIONS", "/v1/completions");
  preflight.headers.add("origin", "https://app.example");
  const http::Reply allowed = ask(std::move(preflight));
  EXPECT_EQ(allowed.status, 204);
  EXPECT_EQ(allowed.headers.get("access-control-allow-origin"), "https://app.example");
}

TEST_P(ServiceTest, ErrorsOfAnthropicsRoutesAreSpelledAsTheirClientsReadThem) {
  start("inferring-key");
  const http::Reply rejected = ask(request("POST", "/v1/messages", "{}"));
  EXPECT_EQ(rejected.status, 401);
  const Json body = Json::parse(rejected.body);
  EXPECT_EQ(body["type"], "error");
  EXPECT_EQ(body["error"]["type"], "authentication_error");
  EXPECT_FALSE(rejected.headers.get("request-id").empty());
}

TEST_P(ServiceTest, KeepsTheClientsRequestIdWhereItIsOne) {
  start();
  http::Request named = request("GET", "/v1/models");
  named.headers.add("x-request-id", "mine-1.2_3");
  EXPECT_EQ(ask(std::move(named)).headers.get("x-request-id"), "mine-1.2_3");
  http::Request odd = request("GET", "/v1/models");
  odd.headers.add("x-request-id", "not\tone");
  EXPECT_EQ(ask(std::move(odd)).headers.get("x-request-id").size(), 16u);
}

TEST_P(ServiceTest, AReaderWhoStopsPausesItsRequestAndHoldsBackNobody) {
  start();
  Bell bell;
  const auto responder = service_->handle(request("POST", "/v1/completions", completion(300)), bell.rope());
  const auto end = Clock::now() + kPatience;
  const auto paused = [&] { return service_->models().ready("letters")->engine->heartbeat().paused; };
  while (paused() == 0 && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(paused(), 1);
  EXPECT_EQ(ask(request("POST", "/v1/completions", completion(100))).status, 200);
  std::optional<http::Reply> reply;
  while (!(reply = responder->poll())) ASSERT_TRUE(bell.wait());
  EXPECT_EQ(Json::parse(reply->body)["usage"]["completion_tokens"], 300);
}

TEST_P(ServiceTest, DrainsLettingWhatRunsFinishAndTakingNothingNew) {
  start("", {}, std::chrono::milliseconds(1));
  Bell bell;
  const auto responder = service_->handle(request("POST", "/v1/completions", completion(200)), bell.rope());
  while (running() == 0) std::this_thread::yield();
  service_->begin_drain();
  EXPECT_EQ(code_of(ask(request("POST", "/v1/completions", completion(1)))), "shutting_down");
  EXPECT_EQ(ask(request("GET", "/ready")).status, 503);
  EXPECT_EQ(ask(request("GET", "/health")).status, 200);
  auto drained = std::async(std::launch::async, [&] { service_->drain(20'000.0); });
  std::optional<http::Reply> reply;
  while (!(reply = responder->poll())) ASSERT_TRUE(bell.wait());
  drained.get();
  EXPECT_EQ(running(), 0);
  EXPECT_EQ(reply->status, 200);
  EXPECT_EQ(Json::parse(reply->body)["usage"]["completion_tokens"], 200);
}

TEST_P(ServiceTest, WhatStillRunsAtTheEndOfADrainIsToldSo) {
  start("", {}, std::chrono::milliseconds(2));
  Bell bell;
  const auto responder = service_->handle(request("POST", "/v1/completions", completion(4000)), bell.rope());
  while (running() == 0) std::this_thread::yield();
  service_->drain(5.0);
  std::optional<http::Reply> reply;
  while (!(reply = responder->poll())) ASSERT_TRUE(bell.wait());
  EXPECT_EQ(reply->status, 503);
  EXPECT_FALSE(reply->headers.get("retry-after").empty());
}

TEST_P(ServiceTest, OpensForksRollsBackAndClosesSessions) {
  start();
  const auto opened = ask(request("POST", "/v1/sessions"));
  ASSERT_EQ(opened.status, 200) << opened.body;
  const std::string session = Json::parse(opened.body)["id"], path = "/v1/sessions/" + session;
  const std::string body =
      fmt::format(R"({{"prompt":[1,2,3],"max_tokens":5,"ignore_eos":true,"session_id":"{}"}})", session);
  EXPECT_EQ(ask(request("POST", "/v1/completions", body)).status, 200);
  const auto forked = ask(request("POST", path + "/fork"));
  ASSERT_EQ(forked.status, 200) << forked.body;
  const std::string other = "/v1/sessions/" + Json::parse(forked.body)["id"].get<std::string>();
  EXPECT_EQ(ask(request("POST", other + "/rollback", R"({"tokens":4})")).status, 200);
  const auto beyond = ask(request("POST", other + "/rollback", R"({"tokens":5})"));
  EXPECT_EQ(beyond.status, 400);
  EXPECT_EQ(Json::parse(beyond.body)["error"]["param"], "tokens");
  EXPECT_EQ(ask(request("POST", path + "/rollback", R"({"tokens":5})")).status, 200);
  EXPECT_EQ(ask(request("DELETE", other)).status, 200);
  EXPECT_EQ(ask(request("DELETE", other)).status, 404);
}

// The source goes to the engine, which says what is wrong with it before the request does.
TEST_P(ServiceTest, AGrammarThatIsNoneIsAnErrorThatNamesItsField) {
  start();
  const auto asking = [](const std::string& regex) {
    return fmt::format(R"({{"prompt":[1],"max_tokens":2,"structured_outputs":{{"regex":"{}"}}}})", regex);
  };
  EXPECT_EQ(ask(request("POST", "/v1/completions", asking("[a-z]+"))).status, 200);
  const auto wrong = ask(request("POST", "/v1/completions", asking("[a-z")));
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(code_of(wrong), "grammar_invalid");
  EXPECT_EQ(Json::parse(wrong.body)["error"]["param"], "structured_outputs.regex");
}

TEST_P(ServiceTest, MetricsSayHowManyPagesThereAre) {
  start();
  const auto metrics = ask(request("GET", "/metrics"));
  EXPECT_EQ(metrics.status, 200);
  EXPECT_NE(metrics.body.find("millrace:engine_up{engine=\"0\",model_name=\"letters\"} 1"), std::string::npos)
      << metrics.body;
  EXPECT_NE(metrics.body.find("state=\"free\"} 256"), std::string::npos);
}

// What a draft model or heads take counts.
TEST_P(ServiceTest, IdleModelsGoWhereOthersWouldNotFitBesideThem) {
  for (const std::int64_t drafting : {0, 500}) {
    std::vector<ModelEntry> entries(2);
    for (std::size_t i = 0; i < 2; ++i) {
      entries[i].name = i == 0 ? "first" : "second";
      entries[i].expected_bytes = [] { return std::uint64_t{1000}; };
      entries[i].load = [this, drafting](const std::function<void(double)>&) {
        ModelParts parts = load({});
        parts.weight_bytes = 1000;
        parts.drafting_bytes = drafting;
        return parts;
      };
    }
    const std::uint64_t kv = load({}).engine->limits().kv_bytes;
    ModelHost host(std::move(entries), {.memory_cap = kv + 2200, .load_at_start = false}, Env::system());
    const auto get = [&](const char* name) {
      std::promise<void> ready;
      host.acquire(name, [&](Result<std::shared_ptr<HostedModel>> model) {
        EXPECT_TRUE(model);
        ready.set_value();
      });
      ready.get_future().get();
    };
    get("first");
    get("second");
    EXPECT_EQ(host.ready("first") != nullptr, drafting == 0);
    EXPECT_NE(host.ready("second"), nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, ServiceTest, testing::Values(Place::kHere, Place::kFar),
                         [](const auto& tested) { return tested.param == Place::kHere ? "Here" : "Far"; });

}  // namespace
}  // namespace millrace::server

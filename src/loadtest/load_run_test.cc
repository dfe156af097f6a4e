#include "loadtest/load_run.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "loadtest/testing/scripted_server.h"

namespace millrace::loadtest {
namespace {

// Sessions of the same turns; session i's prompts say so.
class Sessions final : public Workload {
 public:
  explicit Sessions(std::vector<Turn> turns, std::optional<std::uint64_t> count = {}) : turns_(turns), count_(count) {}
  Session session(std::uint64_t index) const override {
    Session made{.turns = turns_};
    for (Turn& turn : made.turns) turn.text += fmt::format("<{}>", index);
    return made;
  }
  std::optional<std::uint64_t> sessions() const override { return count_; }

 private:
  std::vector<Turn> turns_;
  std::optional<std::uint64_t> count_;
};

const RequestStyle kStyle{};

std::string event(std::string_view data) { return fmt::format("{:x}\r\ndata: {}\n\n\r\n", data.size() + 8, data); }
std::string token(std::string_view text) { return event(fmt::format(R"({{"choices":[{{"text":"{}"}}]}})", text)); }
const std::string kHead = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
const std::string kEnd = event("[DONE]") + "0\r\n\r\n";
const std::string kAnswer = kHead + token("a") + token("b") + kEnd;

Target target_of(const std::string& url) { return parse_target("url", url).or_throw(); }
Target target_of(const ScriptedServer& server) { return target_of(server.url()); }

// The body of a request as the server got it.
std::string body_of(const std::string& request) { return request.substr(request.find("\r\n\r\n") + 4); }

TEST(LoadRun, AKeptConnectionThatTheServerClosesIsNotItsFailure) {
  std::atomic<int> connections = 0;
  ScriptedServer server([&](Peer& peer) {
    ++connections;
    if (peer.request().empty()) return;
    peer.write(kAnswer);
    static_cast<void>(peer.request());  // takes the next one, and is gone without a word
  });
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = "x", .output_tokens = 2}}), {.sessions = 4, .users = 1});
  for (const RequestRecord& record : run.records) EXPECT_TRUE(record.good()) << record.error;
  EXPECT_GE(connections, 4);
}

TEST(LoadRun, AnswersEachRequestOfAClosedLoop) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string&) { peer.write(kAnswer); }));
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = "x", .output_tokens = 2}}), {.sessions = 20, .users = 3});
  ASSERT_EQ(run.records.size(), 20u);
  for (std::size_t i = 0; i < 20; ++i) {
    const RequestRecord& record = run.records[i];
    EXPECT_EQ(record.index, static_cast<std::int64_t>(i));
    EXPECT_EQ(record.session, static_cast<std::int64_t>(i));
    EXPECT_TRUE(record.good()) << record.error;
    EXPECT_EQ(record.events.size(), 2u);
    EXPECT_EQ(record.asked_tokens, 2);
    EXPECT_LE(record.due, record.sent);
    EXPECT_LE(record.sent, record.first_byte);
    EXPECT_LE(record.first_byte, record.events.front());
    EXPECT_LE(record.events.back(), record.ended);
    EXPECT_GE(record.due, 0.0);
    EXPECT_LE(record.ended, run.seconds);
  }
  EXPECT_FALSE(run.stopped);
  EXPECT_GT(run.started_unix_s, 1.6e9);
}

TEST(LoadRun, SendsWhatTheServerShouldGet) {
  std::string got;
  ScriptedServer server(ScriptedServer::each([&](Peer& peer, const std::string& request) {
    got = request;
    peer.write(kAnswer);
  }));
  Target target = target_of(server.url() + "/base/v1");
  target.headers = {{"authorization", "Bearer key"}};
  const Turn turn{.text = "x", .output_tokens = 9};
  run_load(target, kStyle, Sessions({turn}), {.sessions = 1});
  EXPECT_TRUE(got.starts_with("POST /base/v1/completions HTTP/1.1\r\n")) << got;
  EXPECT_NE(got.find(fmt::format("\r\nhost: 127.0.0.1:{}\r\n", server.port())), std::string::npos) << got;
  EXPECT_NE(got.find("\r\nauthorization: Bearer key\r\n"), std::string::npos) << got;
  EXPECT_EQ(body_of(got), request_body(kStyle, {}, {.text = "x<0>", .output_tokens = 9}));
}

TEST(LoadRun, UsesConnectionsAgain) {
  std::atomic<int> connections = 0;
  ScriptedServer server([&](Peer& peer) {
    int requests = 0;
    for (; !peer.request().empty(); ++requests) peer.write(kAnswer);
    if (requests > 0) ++connections;
  });
  run_load(target_of(server), kStyle, Sessions({{.text = "x"}}), {.sessions = 30, .users = 1});
  for (int i = 0; i < 10'000 && connections == 0; ++i) ::usleep(1000);
  EXPECT_EQ(connections, 1);
}

TEST(LoadRun, OpensANewConnectionWhereTheServerClosesTheOld) {
  std::atomic<int> replies = 0;
  ScriptedServer server([&](Peer& peer) {
    if (peer.request().empty()) return;
    ++replies;
    peer.write(
        "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\ndata: {\"choices\":[{\"text\":\"a\"}]}\n\ndata: [DONE]\n\n");
  });
  const LoadRun run = run_load(target_of(server), kStyle, Sessions({{.text = "x"}}), {.sessions = 5, .users = 1});
  EXPECT_EQ(replies, 5);
  for (const RequestRecord& record : run.records) EXPECT_TRUE(record.good()) << record.error;
}

TEST(LoadRun, RecordsHowRequestsEnd) {
  ScriptedServer server([](Peer& peer) {
    for (std::string request; !(request = peer.request()).empty();) {
      if (request.find("<0>") != std::string::npos) {
        peer.write("HTTP/1.1 429 No\r\ncontent-length: 28\r\n\r\n{\"error\":{\"message\":\"full\"}}");
      } else if (request.find("<1>") != std::string::npos) {
        peer.write(kHead + token("a") + event(R"({"error":{"message":"broke"}})"));
      } else if (request.find("<2>") != std::string::npos) {
        return peer.write(kHead + token("a"));
      } else if (request.find("<3>") != std::string::npos) {
        return;
      } else {
        for (const char c : "HTTP/1.1 100 Continue\r\n\r\n" + kAnswer) peer.write({&c, 1});
      }
    }
  });
  const LoadRun run = run_load(target_of(server), kStyle, Sessions({{.text = "x"}}, 5), {.sessions = 50, .users = 1});
  ASSERT_EQ(run.records.size(), 5u);  // as many as the workload has
  const auto expect = [&](std::size_t i, Outcome outcome, int status, std::size_t events, std::string_view error) {
    EXPECT_EQ(run.records[i].outcome, outcome) << i;
    EXPECT_EQ(run.records[i].status, status) << i;
    EXPECT_EQ(run.records[i].events.size(), events) << i;
    EXPECT_EQ(run.records[i].error, error) << i;
  };
  expect(0, Outcome::kRejected, 429, 0, "full");
  expect(1, Outcome::kFailed, 200, 1, "broke");
  expect(2, Outcome::kCut, 200, 1, "the connection ended inside the reply");
  expect(3, Outcome::kCut, 0, 0, "the connection ended without a reply");
  expect(4, Outcome::kWhole, 200, 2, "");
}

TEST(LoadRun, KeepsTheOrderOfTurns) {
  std::mutex mutex;
  std::vector<std::string> bodies;
  ScriptedServer server(ScriptedServer::each([&](Peer& peer, const std::string& request) {
    const std::lock_guard lock(mutex);
    bodies.push_back(body_of(request));
    peer.write(kAnswer);
  }));
  const Sessions workload({{.text = "one"}, {.text = "two", .pause_s = 0.02}, {.text = "three"}});
  const LoadRun run = run_load(target_of(server), kStyle, workload, {.sessions = 2, .starts = {0.0, 0.001}});
  ASSERT_EQ(run.records.size(), 6u);
  for (std::int64_t s = 0; s < 2; ++s) {
    std::vector<RequestRecord> turns;
    std::ranges::copy_if(run.records, std::back_inserter(turns), [&](const auto& r) { return r.session == s; });
    ASSERT_EQ(turns.size(), 3u);
    for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(turns[t].turn, static_cast<std::int64_t>(t));
    EXPECT_NEAR(turns[1].due, turns[0].ended + 0.02, 1e-9);
    EXPECT_NEAR(turns[2].due, turns[1].ended, 1e-9);
    EXPECT_GE(turns[1].sent, turns[1].due);
    const Session said = workload.session(static_cast<std::uint64_t>(s));
    const std::string last = request_body(kStyle, {{said.turns[0], "ab"}, {said.turns[1], "ab"}}, said.turns[2]);
    EXPECT_EQ(std::ranges::count(bodies, last), 1);
  }
}

TEST(LoadRun, EndsTheSessionOfARequestThatFails) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string& request) {
    const bool bad = request.find("two<1>") != std::string::npos;
    peer.write(bad ? "HTTP/1.1 503 No\r\ncontent-length: 4\r\n\r\nbusy" : kAnswer);
  }));
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = "one"}, {.text = "two"}, {.text = "three"}}),
               {.sessions = 3, .users = 1});
  EXPECT_EQ(run.records.size(), 8u);
  const auto bad = std::ranges::find(run.records, Outcome::kRejected, &RequestRecord::outcome);
  ASSERT_NE(bad, run.records.end());
  EXPECT_EQ(bad->status, 503);
  EXPECT_EQ(bad->error, "busy");
  EXPECT_EQ(bad->session, 1);
  EXPECT_EQ(bad->turn, 1);
}

TEST(LoadRun, SendsAnOpenLoopWhenItIsDue) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string&) { peer.write(kAnswer); }));
  const std::vector<double> starts = {0.0, 0.03, 0.03, 0.05, 0.11};
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = "x"}}), {.sessions = 99, .starts = starts});
  ASSERT_EQ(run.records.size(), starts.size());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    EXPECT_NEAR(run.records[i].due, starts[i], 1e-9);
    EXPECT_GE(run.records[i].sent, starts[i] - 1e-9);
  }
}

TEST(LoadRun, HoldsBackWhatIsMoreThanTheUsersAllowed) {
  std::atomic<int> at_once = 0, most = 0;
  ScriptedServer server(ScriptedServer::each([&](Peer& peer, const std::string&) {
    most = std::max<int>(most, ++at_once);
    ::usleep(5000);
    --at_once;
    peer.write(kAnswer);
  }));
  const LoadRun run = run_load(target_of(server), kStyle, Sessions({{.text = "x"}}),
                               {.sessions = 12, .starts = std::vector<double>(12, 0.0), .users = 2});
  EXPECT_LE(most, 2);
  ASSERT_EQ(run.records.size(), 12u);
  for (const RequestRecord& record : run.records) EXPECT_NEAR(record.due, 0.0, 1e-9);
  EXPECT_GE(run.records[11].sent, 0.025);  // after five others on each of the two
}

TEST(LoadRun, AwaitsItsWarmUpAndStartsTheClockThen) {
  std::mutex mutex;
  std::vector<std::string> order;
  ScriptedServer server(ScriptedServer::each([&](Peer& peer, const std::string& request) {
    const std::lock_guard lock(mutex);
    order.push_back(request.substr(request.find('<'), 3));
    peer.write(kAnswer);
  }));
  bool seen_warmup = false;
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = "x"}}), {.sessions = 3, .users = 1, .warmup = 2},
               {.progress = [&](const Progress& p) { seen_warmup = seen_warmup || p.warmup; }});
  EXPECT_EQ(order, (std::vector<std::string>{"<3>", "<4>", "<0>", "<1>", "<2>"}));
  EXPECT_TRUE(seen_warmup);
  ASSERT_EQ(run.records.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(run.records[i].index, static_cast<std::int64_t>(i));
    EXPECT_EQ(run.records[i].warmup, i < 2);
    EXPECT_EQ(run.records[i].ended < 0.0, i < 2);
    EXPECT_EQ(run.records[i].events.front() < 0.0, i < 2);
  }
}

TEST(LoadRun, BeginsNoSessionAfterItsTime) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string&) {
    ::usleep(2000);
    peer.write(kAnswer);
  }));
  const LoadRun closed = run_load(target_of(server), kStyle, Sessions({{.text = "x"}}),
                                  {.sessions = 1 << 30, .users = 2, .think_s = 0.001, .seconds = 0.1});
  EXPECT_GT(closed.records.size(), 2u);
  for (const RequestRecord& record : closed.records) EXPECT_LT(record.due, 0.1);
  const LoadRun open = run_load(target_of(server), kStyle, Sessions({{.text = "x"}}),
                                {.sessions = 4, .starts = {0.0, 0.01, 0.3, 50.0}, .seconds = 0.1});
  EXPECT_EQ(open.records.size(), 2u);
}

TEST(LoadRun, LeavesAtARandomTokenWhereTheLoadWantsIt) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string&) {
    std::string answer = kHead;
    for (int i = 0; i < 8; ++i) answer += token("a");
    peer.write(answer + kEnd);
  }));
  const LoadPlan plan{.sessions = 200, .users = 4, .disconnect_fraction = 0.3, .seed = 5};
  const auto left = [&] {
    std::vector<std::pair<std::int64_t, std::size_t>> out;
    for (const RequestRecord& record :
         run_load(target_of(server), kStyle, Sessions({{.text = "x", .output_tokens = 8}}), plan).records) {
      EXPECT_TRUE(record.outcome == Outcome::kDisconnected || record.outcome == Outcome::kWhole) << record.error;
      if (record.outcome == Outcome::kDisconnected) out.emplace_back(record.session, record.events.size());
    }
    std::ranges::sort(out);
    return out;
  };
  const auto first = left();
  EXPECT_NEAR(static_cast<double>(first.size()), 60.0, 25.0);
  std::set<std::size_t> at;
  for (const auto& [session, events] : first) at.insert(events);
  EXPECT_GT(at.size(), 4u);
  EXPECT_EQ(first, left());
}

TEST(LoadRun, StopsWhenItIsTold) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string& request) {
    peer.write(kHead + token("a"));
    if (request.find("<0>") == std::string::npos) return peer.wait_until_left();
    peer.write(kEnd);
  }));
  std::int64_t events = 0;
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = "x"}}), {.sessions = 10, .users = 2},
               {.stop = [&] { return events >= 3; }, .progress = [&](const Progress& p) { events = p.events; }});
  EXPECT_TRUE(run.stopped);
  ASSERT_EQ(run.records.size(), 3u);
  EXPECT_EQ(run.records[0].outcome, Outcome::kWhole);
  EXPECT_EQ(run.records[1].outcome, Outcome::kStopped);
  EXPECT_EQ(run.records[2].outcome, Outcome::kStopped);
  EXPECT_EQ(run.records[2].events.size(), 1u);
}

TEST(LoadRun, GivesUpWhatTakesTooLong) {
  ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string& request) {
    if (request.find("<1>") != std::string::npos) return peer.write(kAnswer);
    peer.write("HTTP/1.1 200 OK\r\nconte");
    peer.wait_until_left();
  }));
  const LoadRun run = run_load(target_of(server), kStyle, Sessions({{.text = "x"}}),
                               {.sessions = 2, .users = 1, .request_timeout_s = 0.2});
  ASSERT_EQ(run.records.size(), 2u);
  EXPECT_EQ(run.records[0].outcome, Outcome::kTimeout);
  EXPECT_GE(run.records[0].ended, 0.2);
  EXPECT_EQ(run.records[1].outcome, Outcome::kWhole) << run.records[1].error;
}

TEST(LoadRun, SendsALargeRequestPieceByPiece) {
  std::size_t got = 0;
  ScriptedServer server(ScriptedServer::each([&](Peer& peer, const std::string& request) {
    got = body_of(request).size();
    peer.write(kAnswer);
  }));
  const std::string text(24 << 20, 'x');
  const LoadRun run = run_load(target_of(server), kStyle, Sessions({{.text = text}}), {.sessions = 1});
  EXPECT_TRUE(run.records.at(0).good()) << run.records[0].error;
  EXPECT_GT(got, text.size());
}

TEST(LoadRun, HearsARefusalThatComesBeforeTheRequestIsWhole) {
  ScriptedServer server([](Peer& peer) {
    peer.write("HTTP/1.1 413 Too Large\r\nconnection: close\r\ncontent-length: 5\r\n\r\nlarge");
    peer.wait_until_left();
  });
  const LoadRun run =
      run_load(target_of(server), kStyle, Sessions({{.text = std::string(8 << 20, 'x')}}), {.sessions = 1});
  EXPECT_EQ(run.records.at(0).outcome, Outcome::kRejected) << run.records[0].error;
  EXPECT_EQ(run.records[0].error, "large");
}

TEST(LoadRun, TalksOverUnixSockets) {
  const std::string path = fmt::format("{}/millrace_load_run_{}.sock", ::testing::TempDir(), ::getpid());
  std::filesystem::remove(path);
  {
    ScriptedServer server(ScriptedServer::each([](Peer& peer, const std::string&) { peer.write(kAnswer); }), path);
    const LoadRun run =
        run_load(target_of("unix:" + path), kStyle, Sessions({{.text = "x"}}), {.sessions = 40, .users = 8});
    for (const RequestRecord& record : run.records) EXPECT_TRUE(record.good()) << record.error;
    EXPECT_EQ(run.records.size(), 40u);
  }
  std::filesystem::remove(path);
}

TEST(LoadRun, SaysThatAServerCannotBeReached) {
  std::string url;
  {
    const ScriptedServer gone([](Peer&) {});
    url = gone.url();
  }
  try {
    run_load(target_of(url), kStyle, Sessions({{.text = "x"}}), {.sessions = 1});
    FAIL();
  } catch (const LoadError& failure) {
    EXPECT_NE(std::string(failure.what()).find("refused"), std::string::npos) << failure.what();
  }
  EXPECT_THROW(run_load(target_of("unix:/nowhere/x.sock"), kStyle, Sessions({{.text = "x"}}), {.sessions = 1}),
               LoadError);
}

// A certificate for localhost that vouches for itself, and who believes in it.
class TlsLoad : public ::testing::Test {
 protected:
  void SetUp() override {
    EVP_PKEY* const key = EVP_EC_gen("P-256");
    X509* const certificate = X509_new();
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
    X509_set_pubkey(certificate, key);
    X509_NAME* const name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("test"), -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    X509_EXTENSION* const names = X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
    X509_add_ext(certificate, names, -1);
    X509_EXTENSION_free(names);
    X509_sign(certificate, key, EVP_sha256());
    context_ = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate(context_, certificate);
    SSL_CTX_use_PrivateKey(context_, key);
    std::FILE* const file = std::fopen(path_.c_str(), "w");
    PEM_write_X509(file, certificate);
    std::fclose(file);
    X509_free(certificate);
    EVP_PKEY_free(key);
    server_ = std::make_unique<ScriptedServer>(
        ScriptedServer::each([](Peer& peer, const std::string&) { peer.write(kAnswer); }), "", context_);
  }
  void TearDown() override {
    server_.reset();
    SSL_CTX_free(context_);
    std::filesystem::remove(path_);
    ::unsetenv("SSL_CERT_FILE");
  }
  LoadRun run(const std::string& host, bool insecure, std::int64_t sessions = 5, std::size_t prompt = 10) {
    Target target = target_of(fmt::format("https://{}:{}", host, server_->port()));
    target.insecure = insecure;
    return run_load(target, kStyle, Sessions({{.text = std::string(prompt, 'x')}}), {.sessions = sessions, .users = 2});
  }
  const std::string path_ = fmt::format("{}/millrace_load_run_{}.pem", ::testing::TempDir(), ::getpid());
  SSL_CTX* context_ = nullptr;
  std::unique_ptr<ScriptedServer> server_;
};

TEST_F(TlsLoad, BelievesACertificateThatIsTrustedInTheRightName) {
  ::setenv("SSL_CERT_FILE", path_.c_str(), 1);
  for (const RequestRecord& record : run("localhost", false).records) EXPECT_TRUE(record.good()) << record.error;
  const LoadRun large = run("localhost", false, 2, 4 << 20);
  for (const RequestRecord& record : large.records) EXPECT_TRUE(record.good()) << record.error;
  for (const RequestRecord& record : run("127.0.0.1", false).records) {
    EXPECT_EQ(record.outcome, Outcome::kCut);
    EXPECT_NE(record.error.find("mismatch"), std::string::npos) << record.error;
  }
}

TEST_F(TlsLoad, BelievesNoOtherCertificateUnlessToldTo) {
  for (const RequestRecord& record : run("localhost", false).records) {
    EXPECT_EQ(record.outcome, Outcome::kCut);
    EXPECT_NE(record.error.find("self-signed"), std::string::npos) << record.error;
  }
  for (const RequestRecord& record : run("127.0.0.1", true).records) EXPECT_TRUE(record.good()) << record.error;
}

}  // namespace
}  // namespace millrace::loadtest

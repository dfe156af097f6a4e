#include "loadtest/client/load_client.h"

#include <gtest/gtest.h>

#include "loadtest/testing/scripted_server.h"

namespace millrace::loadtest {
namespace {

// Whoever waits for a slow server sleeps: a client that spins takes the processor that the server needs.
TEST(LoadClient, SleepsWhileNothingComes) {
  ScriptedServer server(ScriptedServer::each([](Peer&, const std::string&) {}));  // reads and says nothing
  LoadClient client(parse_target("url", server.url()).or_throw());
  for (int i = 0; i < 3; ++i) client.send({.record = {}, .path = "/v1/completions", .body = "{}"});
  const TimePoint until = Clock::now() + std::chrono::milliseconds(200);
  int polls = 0;
  for (; Clock::now() < until; ++polls) client.poll(until);
  EXPECT_LT(polls, 20);  // connections come up, and that is all
  EXPECT_EQ(client.active(), 3u);
  client.stop();
}

}  // namespace
}  // namespace millrace::loadtest

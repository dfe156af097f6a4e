#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::loadtest {

// When a paced server says what: of each stream when its events are due, in seconds after its request has come.
struct Pace {
  std::int64_t streams = 1, events = 1;  // most of the first, number of the second for each stream
  double first_s = 0.1;                  // to the first event
  double gap_s = 0.02;                   // between events
  double jitter = 0.0;                   // both are drawn evenly from 1 - jitter to 1 + jitter times that, [0, 1]
  std::uint64_t seed = 0;
};
// The due times of a stream's events: ascending, the same for the same pace and stream.
std::vector<double> script_of(const Pace& pace, std::int64_t stream);

// A server in a process of its own that computes nothing and streams completions at scripted times, to check a client
// by: it notes when it really wrote each event. A request says which stream it is by `"user":"N"`, 0 <= N < streams,
// each once; the reply's id is "N".
class MockServer {
 public:
  explicit MockServer(const Pace& pace);  // ready when this returns; forks; throws LoadError
  ~MockServer();
  MockServer(const MockServer&) = delete;
  MockServer& operator=(const MockServer&) = delete;

  std::string url() const;
  // By the steady clock, which all processes share; 0 = not yet. To be read after the streams have ended.
  TimePoint arrived(std::int64_t stream) const;                      // when the server had read the request
  TimePoint written(std::int64_t stream, std::int64_t event) const;  // when it began to write the event

 private:
  std::int64_t note(std::int64_t stream, std::int64_t entry) const;

  const Pace pace_;
  std::span<std::int64_t> notes_;  // shared with the server: of each stream its arrival and its events, nanoseconds
  pid_t pid_ = -1;
  int port_ = 0;
};

}  // namespace millrace::loadtest

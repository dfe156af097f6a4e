#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/env.h"

namespace millrace::loadtest {

// The script of a mock server: when the events of each stream are due, in seconds after its request has arrived.
struct Pace {
  std::int64_t streams = 1, events = 1;  // limit of streams; events of each stream
  double first_s = 0.1;                  // to the first event
  double gap_s = 0.02;                   // between events
  double jitter = 0.0;  // both times are multiplied by a uniform number from 1 - jitter to 1 + jitter; [0, 1]
  std::uint64_t seed = 0;
};
// The due times of a stream's events, ascending. A function of pace and stream.
std::vector<double> script_of(const Pace& pace, std::int64_t stream);

// A server in a process of its own that streams completions at scripted times without computing, to check a client. It
// records when it actually wrote each event. A request names its stream by `"user":"N"`, 0 <= N < streams, each once;
// the reply's id is "N".
class MockServer {
 public:
  explicit MockServer(const Pace& pace);  // forks, and is ready on return; throws LoadError
  ~MockServer();
  MockServer(const MockServer&) = delete;
  MockServer& operator=(const MockServer&) = delete;

  std::string url() const;
  // Times of the steady clock, which all processes share; 0 = not yet. To be read after the streams have ended.
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

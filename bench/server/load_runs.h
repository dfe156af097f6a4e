#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "loadgen/workload.h"
#include "stream_client.h"

namespace millrace::bench {

// Streamed completions of random token ids, ends of sequence ignored. Request i is the same as request i of
// `millrace bench throughput` with these lengths and this seed.
struct StreamLoad {
  std::string model;            // its name in requests; "" = the server's first
  std::int64_t vocabulary = 0;  // ids are below
  loadgen::TokenRange input{128, 128}, output{64, 64};
  std::uint64_t seed = 0;
  double abandon = 0.0;  // share of the clients that leave before the end, [0, 1]
};

struct LoadRun {
  double seconds = 0.0;  // from the first request to the last token
  std::int64_t events = 0;
  std::vector<StreamSeen> answers;  // in the order they ended
};

// `requests` requests, `concurrency` at a time: the next goes out when one has ended.
LoadRun run_closed(StreamClient& client, const StreamLoad& load, std::int64_t requests, std::int64_t concurrency);
// As many as there are until the time is over.
LoadRun run_closed_for(StreamClient& client, const StreamLoad& load, double seconds, std::int64_t concurrency);
// Arrivals of a Poisson process of `rate` a second, whatever the server makes of them: `requests` in all.
LoadRun run_open(StreamClient& client, const StreamLoad& load, std::int64_t requests, double rate);
// Opens `streams` answers, `at_once` of them without an event at most, and returns when each has its first.
void open_streams(StreamClient& client, const StreamLoad& load, std::int64_t streams, std::int64_t at_once);

}  // namespace millrace::bench

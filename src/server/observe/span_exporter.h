#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "server/observe/drop_queue.h"
#include "server/observe/request_record.h"
#include "server/observe/trace_context.h"

namespace millrace::server::observe {

struct SpanExporterConfig {
  std::string endpoint;                        // "http://host:4318/v1/traces"; without a path, that one
  std::map<std::string, std::string> headers;  // sent along: keys of hosted collectors
  std::string service_name = "millrace", version;
  std::size_t max_queued = 2048;  // requests
  std::size_t max_batched = 512;  // requests of one message
  std::chrono::milliseconds period{1000};
  std::chrono::milliseconds timeout{10'000};  // of one message
};

// Sends a span for each finished request, with children for its queue, prefill and decode, to an OpenTelemetry
// collector: OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/). Attributes as vLLM names them. The
// caller's `traceparent` becomes the parent; where that is not sampled nothing is sent. Thread-safe; never waits: what
// the collector does not take in time is dropped and counted.
class SpanExporter {
 public:
  // kInvalidArgument where the endpoint is no http or https address.
  static Result<std::unique_ptr<SpanExporter>> create(const SpanExporterConfig& config, Env& env);
  ~SpanExporter();  // sends what is queued, for at most the timeout of one message

  void request(const RequestRecord& record);
  std::int64_t dropped() const noexcept { return queue_.dropped(); }

 private:
  struct Item {
    RequestRecord record;
    std::optional<TraceContext> parent;
    std::int64_t epoch_ns;  // of the steady clock's zero in Unix time, when the request ended
  };
  SpanExporter(const SpanExporterConfig& config, Env& env);
  void run();
  bool send(const std::vector<Item>& items);

  const SpanExporterConfig config_;
  Env& env_;
  DropQueue<Item> queue_;
  std::mt19937_64 random_;  // the sending thread's: ids
  std::thread thread_;
};

// The spans of one request, as OTLP's JSON has them. Times are the record's plus epoch_ns.
nlohmann::json spans_of(const RequestRecord& record, const std::optional<TraceContext>& parent, std::int64_t epoch_ns,
                        std::mt19937_64& random);

}  // namespace millrace::server::observe

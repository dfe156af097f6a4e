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
  std::string endpoint;                        // "http://host:4318/v1/traces", which is the default path
  std::map<std::string, std::string> headers;  // additional request headers, such as keys of collectors
  std::string service_name = "millrace", version;
  std::size_t max_queued = 2048;  // requests
  std::size_t max_batched = 512;  // requests in one message
  std::chrono::milliseconds period{1000};
  std::chrono::milliseconds timeout{10'000};  // of sending one message
};

// Sends a span for each finished request, with children for its queue, prefill and decode, to an OpenTelemetry
// collector: OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/). Attributes have vLLM's names. The
// caller's `traceparent` becomes the parent; if that is not sampled, nothing is sent. Thread-safe; never blocks: spans
// that the collector does not take in time are dropped and counted.
class SpanExporter {
 public:
  // kInvalidArgument if the endpoint is not an http or https URL.
  static Result<std::unique_ptr<SpanExporter>> create(const SpanExporterConfig& config, Env& env);
  ~SpanExporter();  // sends the queued spans, for at most the timeout of one message

  void request(const RequestRecord& record);
  std::int64_t dropped() const noexcept { return queue_.dropped(); }

 private:
  struct Item {
    RequestRecord record;
    std::optional<TraceContext> parent;
    std::int64_t epoch_ns;  // Unix time of the steady clock's zero
  };
  SpanExporter(const SpanExporterConfig& config, Env& env);
  void run();
  bool send(const std::vector<Item>& items);

  const SpanExporterConfig config_;
  Env& env_;
  DropQueue<Item> queue_;
  std::mt19937_64 random_;  // makes ids; used by the sending thread alone
  std::thread thread_;
};

// The spans of one request as OTLP JSON. Times are the record's plus epoch_ns.
nlohmann::json spans_of(const RequestRecord& record, const std::optional<TraceContext>& parent, std::int64_t epoch_ns,
                        std::mt19937_64& random);

}  // namespace millrace::server::observe

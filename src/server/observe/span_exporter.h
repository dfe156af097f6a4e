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
  std::string endpoint;                        // "http://host:4318/v1/traces"; the path is added if absent
  std::map<std::string, std::string> headers;  // sent with each message, for example keys
  std::string service_name = "millrace", version;
  std::size_t max_queued = 2048;  // requests that wait to be sent
  std::size_t max_batched = 512;  // requests of one message
  std::chrono::milliseconds period{1000};
  std::chrono::milliseconds timeout{10'000};  // of one message
};

// Sends a span for each finished request, with child spans for queue, prefill and decode, to an OpenTelemetry
// collector: OTLP over HTTP as JSON (https://opentelemetry.io/docs/specs/otlp/). Attributes have vLLM's names. The
// client's `traceparent` becomes the parent; if it is not sampled, nothing is sent. A thread of its own sends, so
// callers never wait: requests that the collector does not take in time are dropped and counted. Thread-safe.
class SpanExporter {
 public:
  // kInvalidArgument where the endpoint is no http or https URL. `env` must outlive the exporter.
  static Result<std::unique_ptr<SpanExporter>> create(const SpanExporterConfig& config, Env& env);
  ~SpanExporter();  // sends what is queued, up to the first message that fails

  void request(const RequestRecord& record);
  std::int64_t dropped() const noexcept { return queue_.dropped(); }

 private:
  struct Item {
    RequestRecord record;
    std::optional<TraceContext> parent;
    std::int64_t epoch_ns;  // Unix time in ns of the zero of env's clock, as the request ended
  };
  SpanExporter(const SpanExporterConfig& config, Env& env);
  void run();
  bool send(const std::vector<Item>& items);

  const SpanExporterConfig config_;
  Env& env_;
  DropQueue<Item> queue_;
  std::mt19937_64 random_;  // for ids; used by thread_ alone
  std::thread thread_;
};

// The spans of one request as a list in OTLP's JSON, the span of the whole request first. Unix times are those of the
// record, in ns, plus epoch_ns. Without a parent the trace gets a random id.
nlohmann::json spans_of(const RequestRecord& record, const std::optional<TraceContext>& parent, std::int64_t epoch_ns,
                        std::mt19937_64& random);

}  // namespace millrace::server::observe

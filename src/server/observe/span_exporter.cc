#include "server/observe/span_exporter.h"

#include <curl/curl.h>
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "base/thread_name.h"

namespace millrace::server::observe {
namespace {

using nlohmann::json;

// Of OTLP's enums.
constexpr int kInternalKind = 1, kServerKind = 2, kErrorStatus = 2;

std::string id(std::mt19937_64& random) {
  std::uint64_t value = 0;
  while (value == 0) value = random();
  return fmt::format("{:016x}", value);
}

std::int64_t nanoseconds(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

// 64-bit integers are strings in protobuf's JSON.
json attribute(std::string_view key, std::int64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}
json attribute(std::string_view key, double value) { return {{"key", key}, {"value", {{"doubleValue", value}}}}; }
json attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}

struct SpanIds {
  std::string trace, span, parent;
};

json span(const SpanIds& ids, std::string_view name, int kind, std::int64_t start_ns, std::int64_t end_ns) {
  json made = {{"traceId", ids.trace},
               {"spanId", ids.span},
               {"name", name},
               {"kind", kind},
               {"startTimeUnixNano", std::to_string(start_ns)},
               {"endTimeUnixNano", std::to_string(std::max(start_ns, end_ns))}};
  if (!ids.parent.empty()) made["parentSpanId"] = ids.parent;
  return made;
}

json attributes_of(const RequestRecord& record) {
  json list = json::array();
  list.push_back(attribute("gen_ai.request.id", std::string_view(record.request_id)));
  list.push_back(attribute("gen_ai.response.model", std::string_view(record.model)));
  list.push_back(attribute("gen_ai.request.n", std::int64_t{record.n}));
  list.push_back(attribute("gen_ai.request.max_tokens", record.max_tokens));
  list.push_back(attribute("gen_ai.request.temperature", record.temperature));
  list.push_back(attribute("gen_ai.request.top_p", record.top_p));
  list.push_back(attribute("gen_ai.usage.prompt_tokens", record.prompt_tokens()));
  list.push_back(attribute("gen_ai.usage.completion_tokens", record.output_tokens()));
  list.push_back(attribute("gen_ai.usage.cached_tokens", record.cached_tokens()));
  list.push_back(attribute("http.route", std::string_view(record.route)));
  list.push_back(attribute("http.response.status_code", std::int64_t{record.status}));
  list.push_back(attribute("gen_ai.latency.e2e", milliseconds_between(record.received, record.finished) / 1e3));
  if (record.answers.empty()) return list;
  const engine::RequestStats& stats = record.answers.front().stats;
  list.push_back(attribute("gen_ai.latency.time_in_queue", record.answers.front().spent.queue_ms / 1e3));
  if (!happened(stats.first_token)) return list;
  const double prefill = milliseconds_between(stats.admitted, stats.first_token) / 1e3;
  const double decode = milliseconds_between(stats.first_token, stats.last_token) / 1e3;
  list.push_back(attribute("gen_ai.latency.time_to_first_token", stats.ttft_ms() / 1e3));
  list.push_back(attribute("gen_ai.latency.time_in_model_prefill", prefill));
  list.push_back(attribute("gen_ai.latency.time_in_model_decode", decode));
  list.push_back(attribute("gen_ai.latency.time_in_model_inference", prefill + decode));
  return list;
}

std::size_t ignore_body(char*, std::size_t, std::size_t size, void*) { return size; }

}  // namespace

json spans_of(const RequestRecord& record, const std::optional<TraceContext>& parent, std::int64_t epoch_ns,
              std::mt19937_64& random) {
  SpanIds ids{.trace = parent ? parent->trace_id : id(random) + id(random),
              .span = id(random),
              .parent = parent ? parent->span_id : ""};
  const auto wall = [&](TimePoint time) { return nanoseconds(time) + epoch_ns; };
  json spans = json::array();
  spans.push_back(span(ids, "llm_request", kServerKind, wall(record.received), wall(record.finished)));
  spans.back()["attributes"] = attributes_of(record);
  if (record.status >= 500) spans.back()["status"] = {{"code", kErrorStatus}, {"message", record.error_code}};
  if (record.answers.empty()) return spans;
  ids.parent = ids.span;
  const auto child = [&](std::string_view name, TimePoint start, TimePoint end) {
    ids.span = id(random);
    spans.push_back(span(ids, name, kInternalKind, wall(start), wall(end)));
  };
  const AnswerRecord& answer = record.answers.front();
  const engine::RequestStats& stats = answer.stats;
  const bool admitted = happened(stats.admitted), begun = happened(stats.first_token);
  child("queue", stats.arrival, admitted ? stats.admitted : answer.spent.finished);
  if (admitted) child("prefill", stats.admitted, begun ? stats.first_token : answer.spent.finished);
  if (begun) child("decode", stats.first_token, answer.spent.finished);
  return spans;
}

Result<std::unique_ptr<SpanExporter>> SpanExporter::create(const SpanExporterConfig& config, Env& env) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  SpanExporterConfig complete = config;
  const std::size_t scheme = complete.endpoint.find("://");
  const std::string_view name = std::string_view(complete.endpoint).substr(0, scheme);
  if (scheme == std::string::npos || (name != "http" && name != "https") || complete.endpoint.size() == scheme + 3) {
    return make_error(ErrorCode::kInvalidArgument, "otlp-traces-endpoint",
                      "\"{}\" is no address: expected http://HOST:PORT or https://HOST:PORT", config.endpoint);
  }
  const std::size_t path = complete.endpoint.find('/', scheme + 3);
  if (path == std::string::npos)
    complete.endpoint += "/v1/traces";
  else if (path + 1 == complete.endpoint.size())
    complete.endpoint += "v1/traces";
  return std::unique_ptr<SpanExporter>(new SpanExporter(complete, env));
}

SpanExporter::SpanExporter(const SpanExporterConfig& config, Env& env)
    : config_(config), env_(env), queue_(config.max_queued), random_(env.random_seed()), thread_([this] { run(); }) {}

SpanExporter::~SpanExporter() {
  queue_.close();
  thread_.join();
}

void SpanExporter::request(const RequestRecord& record) {
  auto parent = parse_trace_parent(record.trace_parent);
  if (parent && !parent->sampled) return;
  const auto wall =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch());
  queue_.push({record, std::move(parent), wall.count() - nanoseconds(env_.now())});
}

void SpanExporter::run() {
  name_thread("spans");
  bool failing = false;
  for (bool ending = false; !ending;) {
    ending = queue_.closed();
    std::vector<Item> items = queue_.take(config_.period);
    for (std::size_t begin = 0; begin < items.size(); begin += config_.max_batched) {
      const std::size_t n = std::min(config_.max_batched, items.size() - begin);
      const auto first = items.begin() + static_cast<std::ptrdiff_t>(begin);
      const bool sent = !(failing && ending) && send({first, first + static_cast<std::ptrdiff_t>(n)});
      if (!sent) queue_.drop(static_cast<std::int64_t>(n));
      if (!sent && !failing) log::warn("{} takes no traces: they are dropped until it does", config_.endpoint);
      failing = !sent;
    }
  }
}

bool SpanExporter::send(const std::vector<Item>& items) {
  json spans = json::array();
  for (const Item& item : items) {
    for (json& made : spans_of(item.record, item.parent, item.epoch_ns, random_)) spans.push_back(std::move(made));
  }
  const json message = {
      {"resourceSpans",
       json::array({{{"resource",
                      {{"attributes", json::array({attribute("service.name", std::string_view(config_.service_name)),
                                                   attribute("service.version", std::string_view(config_.version))})}}},
                     {"scopeSpans", json::array({{{"scope", {{"name", "millrace"}, {"version", config_.version}}},
                                                  {"spans", std::move(spans)}}})}}})}};
  const std::string body = message.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle(curl_easy_init(), &curl_easy_cleanup);
  if (!handle) return false;
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers(nullptr, &curl_slist_free_all);
  const auto add = [&](const std::string& line) {
    curl_slist* longer = curl_slist_append(headers.get(), line.c_str());
    if (longer != nullptr) (void)headers.release(), headers.reset(longer);
  };
  add("Content-Type: application/json");
  for (const auto& [name, value] : config_.headers) add(name + ": " + value);
  curl_easy_setopt(handle.get(), CURLOPT_URL, config_.endpoint.c_str());
  curl_easy_setopt(handle.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDS, body.data());
  curl_easy_setopt(handle.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(handle.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(config_.timeout.count()));
  curl_easy_setopt(handle.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle.get(), CURLOPT_WRITEFUNCTION, &ignore_body);
  if (curl_easy_perform(handle.get()) != CURLE_OK) return false;
  long status = 0;
  curl_easy_getinfo(handle.get(), CURLINFO_RESPONSE_CODE, &status);
  return status >= 200 && status < 300;
}

}  // namespace millrace::server::observe

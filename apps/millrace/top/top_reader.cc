#include "top/top_reader.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "http/client/curl_client.h"
#include "http/client/text_sink.h"
#include "printable.h"

namespace millrace::app {
namespace {

constexpr std::size_t kMaxBytes = 64 << 20;

std::string metrics_page(std::string url) {
  if (url.find("://") == std::string::npos) url = "http://" + url;
  const std::size_t path = url.find('/', url.find("://") + 3);
  if (path == std::string::npos) return url + "/metrics";
  return path + 1 == url.size() ? url + "metrics" : url;
}

std::string requests_page(const std::string& metrics_url) {
  constexpr std::string_view kMetrics = "/metrics";
  if (!metrics_url.ends_with(kMetrics)) return {};
  return metrics_url.substr(0, metrics_url.size() - kMetrics.size()) + "/v1/requests";
}

// Another program may answer at that path: what is not as expected counts as not there.
std::optional<std::vector<RequestRow>> rows_of(const std::string& text) {
  const auto list = nlohmann::json::parse(text, nullptr, false);
  if (!list.is_object() || !list.contains("data") || !list["data"].is_array()) return std::nullopt;
  std::vector<RequestRow> rows;
  try {
    for (const auto& one : list["data"]) {
      rows.push_back({.id = one.at("id"),
                      .model = one.at("model").is_string() ? one.at("model").get<std::string>() : "",
                      .state = one.at("state"),
                      .age_ms = one.at("age_ms"),
                      .prompt_tokens = one.at("prompt_tokens"),
                      .output_tokens = one.at("output_tokens")});
    }
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  return rows;
}

}  // namespace

TopReader::TopReader(ServerAddress source)
    : source_(std::move(source)),
      metrics_url_(metrics_page(source_.url)),
      requests_url_(requests_page(metrics_url_)),
      client_(http::make_curl_client({.ca_file = trusted_certificates(source_),
                                      .connect_seconds = 5,
                                      .stalled_seconds = 10,
                                      .insecure = source_.insecure})) {}

Result<std::string> TopReader::get(const std::string& url, const std::function<bool()>& cancelled) {
  http::HttpRequest request{.url = url};
  if (!source_.api_key.empty()) request.headers.add("Authorization", "Bearer " + source_.api_key);
  request.cancelled = cancelled;
  http::TextSink body(kMaxBytes);
  const auto outcome = client_->exchange(request, body);
  if (const auto* failure = std::get_if<http::HttpFailure>(&outcome)) {
    return make_error(ErrorCode::kNotFound, "url", "{}: {}", printable(url), failure->message);
  }
  if (const int status = std::get<http::HttpResponse>(outcome).status; status != 200) {
    return make_error(ErrorCode::kNotFound, "url", "{}: status {}{}", printable(url), status,
                      status == 401 ? ": --api-key is missing or wrong" : "");
  }
  return body.take();
}

Result<TopReading> TopReader::read(const std::function<bool()>& cancelled) {
  auto page = get(metrics_url_, cancelled);
  if (!page) return page.error();
  auto metrics = metrics::MetricsReading::parse(*page);
  if (!metrics) return metrics.error();
  metrics->taken_unix_seconds =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  TopReading reading{.metrics = *std::move(metrics), .requests = {}};
  if (!requests_url_.empty()) {
    if (const auto list = get(requests_url_, cancelled)) reading.requests = rows_of(*list);
  }
  return reading;
}

}  // namespace millrace::app

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/client/http_client.h"
#include "metrics/prometheus_text.h"
#include "servers/server_link.h"

namespace millrace::app {

// A running request as the server tells of it.
struct RequestRow {
  std::string id, model, state;
  double age_ms = 0.0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
};

// What was read of a server at one time.
struct TopReading {
  metrics::MetricsReading metrics;
  std::optional<std::vector<RequestRow>> requests;  // nothing: the server does not list them, or not to this key
};

// Reads a server's metrics and running requests. One thread.
class TopReader {
 public:
  // The URL is of the server or of its /metrics page.
  explicit TopReader(ServerAddress source);
  // `cancelled` is asked while it waits. kNotFound naming the URL where the server does not answer, or not with 200.
  Result<TopReading> read(const std::function<bool()>& cancelled);
  const std::string& metrics_url() const noexcept { return metrics_url_; }

 private:
  Result<std::string> get(const std::string& url, const std::function<bool()>& cancelled);

  const ServerAddress source_;
  const std::string metrics_url_, requests_url_;  // requests_url_: "" where the URL names another page
  std::unique_ptr<http::HttpClient> client_;
};

}  // namespace millrace::app

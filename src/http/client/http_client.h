#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace millrace::http {

// Header fields in order of arrival. Names are in lower case in responses.
class HttpHeaders {
 public:
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  const std::string* find(std::string_view name) const;
  void remove(std::string_view name);
  bool empty() const noexcept { return fields_.empty(); }
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  enum class Method { kGet, kHead, kPost };
  Method method = Method::kGet;
  std::string url;
  HttpHeaders headers;
  std::string body;  // of kPost
  // Called at least once per second on the calling thread; true ends the exchange; may be empty.
  std::function<bool()> cancelled;
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
};

// There is no response, or not a complete one.
struct HttpFailure {
  enum class Kind {
    kUnresolved,   // the name of the server or of the proxy has no address
    kUnreachable,  // routing, connection refused, proxy
    kTls,          // certificate
    kStalled,      // no connection in time, or too slow for too long
    kCut,          // the connection ended early
    kProtocol,     // not HTTP, or beyond the limits
    kStopped,      // the sink returned false
    kCancelled,    // HttpRequest::cancelled returned true
  };
  Kind kind = Kind::kUnreachable;
  std::string message;  // without the URL
};

// Receives one response as it arrives, on the calling thread of exchange().
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  // Called once, when the header is complete. Returning false ends the exchange with kStopped, without the body.
  virtual bool begin(const HttpResponse& head) = 0;
  virtual bool write(std::span<const std::byte> body) = 0;
};

// Exchanges one request for one response; follows no redirects and repeats nothing (hub/transport.h does). Thread-safe.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  virtual std::variant<HttpResponse, HttpFailure> exchange(const HttpRequest& request, HttpSink& sink) = 0;
};

}  // namespace millrace::http

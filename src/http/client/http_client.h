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

// Header fields in the order of arrival; names are in lower case in responses.
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
  enum class Method { kGet, kHead };
  Method method = Method::kGet;
  std::string url;
  HttpHeaders headers;
  std::function<bool()> cancelled;  // asked at least once a second, from the calling thread; may be empty
};

struct HttpResponse {
  int status = 0;
  HttpHeaders headers;
};

// No response, or less than a whole one.
struct HttpFailure {
  enum class Kind {
    kUnreachable,  // name, route, refused, proxy
    kTls,          // certificate
    kStalled,      // no connection in time, or too slow for too long
    kCut,          // the connection ended in the middle
    kProtocol,     // not HTTP, or beyond our limits
    kStopped,      // the sink wanted no more
    kCancelled,    // HttpRequest::cancelled
  };
  Kind kind = Kind::kUnreachable;
  std::string message;  // without the address
};

// Takes one response as it arrives, on the thread of the call.
class HttpSink {
 public:
  virtual ~HttpSink() = default;
  // Once, when the header is whole. false = no body wanted: the exchange ends with kStopped.
  virtual bool begin(const HttpResponse& head) = 0;
  virtual bool write(std::span<const std::byte> body) = 0;
};

// One request, one response: follows no redirect and repeats nothing (hub/transport.h does). Thread-safe.
class HttpClient {
 public:
  virtual ~HttpClient() = default;
  virtual std::variant<HttpResponse, HttpFailure> exchange(const HttpRequest& request, HttpSink& sink) = 0;
};

}  // namespace millrace::http

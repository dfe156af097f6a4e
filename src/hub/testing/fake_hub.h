#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "http/client/http_client.h"
#include "hub/pull_observer.h"
#include "hub/retry.h"

// For tests: a hub in memory, with prepared answers and failures.

namespace millrace::hub {

// A prepared answer of the hub.
struct FakeAnswer {
  int status = 200;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  std::size_t cut_at = std::string::npos;  // bytes of the body before the connection breaks; npos = all
  bool unreachable = false;                // there is no connection
  bool unresolved = false;                 // the host's name has no address
};

// Answers requests by URL; 404 if there is no answer. exchange() is thread-safe; set the members before.
class FakeClient final : public http::HttpClient {
 public:
  using Route = std::function<FakeAnswer(const http::HttpRequest&)>;
  std::map<std::string, Route> routes;                   // by URL
  std::map<std::string, std::deque<FakeAnswer>> before;  // by URL; answers given once, before `routes`
  std::vector<http::HttpRequest> requests;               // all requests so far

  std::variant<http::HttpResponse, http::HttpFailure> exchange(const http::HttpRequest& request,
                                                               http::HttpSink& sink) override {
    const std::lock_guard lock(mutex_);
    requests.push_back(request);
    FakeAnswer answer{.status = 404};
    if (auto it = before.find(request.url); it != before.end() && !it->second.empty()) {
      answer = it->second.front();
      it->second.pop_front();
    } else if (auto route = routes.find(request.url); route != routes.end()) {
      answer = route->second(request);
    }
    if (answer.unresolved) return http::HttpFailure{http::HttpFailure::Kind::kUnresolved, "no such host"};
    if (answer.unreachable) return http::HttpFailure{http::HttpFailure::Kind::kUnreachable, "no route"};
    http::HttpResponse response{.status = answer.status};
    for (auto& [name, value] : answer.headers) response.headers.add(name, value);
    if (!sink.begin(response)) return http::HttpFailure{http::HttpFailure::Kind::kStopped, "stopped"};
    const std::string part = answer.body.substr(0, answer.cut_at);
    if (!part.empty() && !sink.write(std::as_bytes(std::span(part)))) {
      return http::HttpFailure{http::HttpFailure::Kind::kStopped, "stopped"};
    }
    if (part.size() < answer.body.size()) return http::HttpFailure{http::HttpFailure::Kind::kCut, "cut"};
    return response;
  }

  // Serves a file at `url`; supports requests with a Range header from a first byte on.
  void serve(const std::string& url, const std::string& content) {
    routes[url] = [content](const http::HttpRequest& request) {
      const std::string* range = request.headers.find("Range");
      if (range == nullptr) return FakeAnswer{.body = content};
      const std::size_t first = std::stoul(range->substr(6));
      return FakeAnswer{
          .status = 206,
          .body = content.substr(first),
          .headers = {{"content-range", "bytes " + std::to_string(first) + "-" + std::to_string(content.size() - 1) +
                                            "/" + std::to_string(content.size())}}};
    };
  }

 private:
  std::mutex mutex_;
};

// A clock that stands still, and sleeps that take no time and are added up.
class FakePause final : public Pause {
 public:
  std::chrono::system_clock::time_point time = std::chrono::system_clock::from_time_t(1'700'000'000);
  std::chrono::milliseconds slept{0};
  std::chrono::system_clock::time_point now() const override { return time; }
  bool sleep(std::chrono::milliseconds duration) override {
    slept += duration;
    return true;
  }
};

// Records what an observer of a download is told; `cancel` cancels the download.
class FakeObserver final : public PullObserver {
 public:
  std::uint64_t total = 0;
  std::int64_t done = 0;
  std::vector<std::string> notes;
  bool cancel = false;
  void planned(const std::string&, std::uint64_t total_bytes, std::uint64_t present_bytes) override {
    total = total_bytes;
    done = static_cast<std::int64_t>(present_bytes);
  }
  void advanced(std::int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    done += bytes;
  }
  void finished(const std::string&, std::uint64_t) override {}
  void note(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    notes.push_back(text);
  }
  bool cancelled() const override { return cancel; }

 private:
  std::mutex mutex_;
};

}  // namespace millrace::hub

#pragma once

#include <optional>
#include <string>
#include <variant>

#include "http/client/http_client.h"
#include "hub/pull_observer.h"
#include "hub/retry.h"
#include "hub/settings.h"
#include "hub/url.h"

namespace millrace::hub {

// What came of a request after its redirects: the last response, or why there is none, and whose answer it was.
struct Answer {
  std::variant<http::HttpResponse, http::HttpFailure> outcome;
  Url url;                  // the last one asked
  bool token_sent = false;  // to that one

  const http::HttpResponse* response() const { return std::get_if<http::HttpResponse>(&outcome); }
  const http::HttpFailure* failure() const { return std::get_if<http::HttpFailure>(&outcome); }
};

// Requests to the hub: redirects, token, waits. Thread-safe as its client is.
//   - The token goes to the endpoint's origin (scheme, host, port) and to no other, whatever a redirect says.
//   - At most 10 redirects; never from https to http.
//   - An address that leaves the endpoint takes no If-Range along: the tag is the endpoint's.
class HubTransport {
 public:
  HubTransport(http::HttpClient& client, const HubSettings& settings, RetryPolicy retry, Pause& pause,
               PullObserver& observer)
      : client_(client), settings_(settings), retry_(retry), pause_(pause), observer_(observer) {}

  // One GET; the sink sees the last response only.
  Answer get(const std::string& url, const http::HttpHeaders& headers, http::HttpSink& sink);
  // One HEAD. Redirects are followed on the endpoint alone: the hub's answer to a large file is a redirect whose
  // headers describe the file.
  Answer head(const std::string& url);
  // A small text, tried again as the policy says. Statuses other than 200 are answers, not failures.
  struct Text {
    Answer answer;
    std::string body;
  };
  Text get_text(const std::string& url, std::uint64_t limit_bytes);

  // Waits before another try of `what` and says why. false = no more tries, or the user wants to stop.
  bool wait(RetrySchedule& schedule, const Answer& answer, const std::string& what);

  const HubSettings& settings() const { return settings_; }
  RetrySchedule new_schedule() const { return RetrySchedule(retry_); }

 private:
  enum class Redirects { kAll, kSameOrigin };
  Answer given_up(Answer answer) const;  // kCancelled where the user wanted the end
  Answer follow(http::HttpRequest::Method method, const std::string& url, http::HttpHeaders headers,
                http::HttpSink& sink, Redirects redirects);

  http::HttpClient& client_;
  const HubSettings& settings_;
  RetryPolicy retry_;
  Pause& pause_;
  PullObserver& observer_;
};

// One line: the status or the failure, and where.
std::string describe(const Answer& answer);

}  // namespace millrace::hub

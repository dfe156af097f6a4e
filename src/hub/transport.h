#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <variant>

#include "http/client/http_client.h"
#include "hub/pull_observer.h"
#include "hub/retry.h"
#include "hub/settings.h"
#include "hub/url.h"

namespace millrace::hub {

// The result of a request after its redirects: the last response or failure, and the URL that it is from.
struct Answer {
  std::variant<http::HttpResponse, http::HttpFailure> outcome;
  Url url;                  // of the last request
  bool token_sent = false;  // to that URL

  const http::HttpResponse* response() const { return std::get_if<http::HttpResponse>(&outcome); }
  const http::HttpFailure* failure() const { return std::get_if<http::HttpFailure>(&outcome); }
};

// Sends requests to the hub, with redirects, token and waits. Thread-safe if its client is.
//   - The token is only sent to the endpoint's origin (scheme, host, port), whatever redirects there are.
//   - At most 10 redirects; never from https to http.
//   - A redirect away from the endpoint carries no If-Range, since the tag is the endpoint's.
class HubTransport {
 public:
  HubTransport(http::HttpClient& client, const HubSettings& settings, RetryPolicy retry, Pause& pause,
               PullObserver& observer)
      : client_(client), settings_(settings), retry_(retry), pause_(pause), observer_(observer) {}

  // One GET. The sink only gets the last response.
  Answer get(const std::string& url, const http::HttpHeaders& headers, http::HttpSink& sink);
  // One HEAD. Redirects are only followed within the endpoint: the hub's answer for a large file is a redirect whose
  // headers describe the file.
  Answer head(const std::string& url);
  // Fetches a small text, with retries. Statuses other than 200 are answers, not failures.
  struct Text {
    Answer answer;
    std::string body;
  };
  Text get_text(const std::string& url, std::uint64_t limit_bytes);

  // Whether another try of the request makes sense: the server is busy or failing, or the connection broke. A name that
  // has no address is tried again only if a server has answered before: else there is no network, and waiting only
  // delays the message.
  bool is_worth_a_retry(const Answer& answer) const;
  // Waits before another try of `what`, and reports why. False: no more tries, or the user wants to stop.
  bool wait(RetrySchedule& schedule, const Answer& answer, const std::string& what);

  const HubSettings& settings() const { return settings_; }
  RetrySchedule new_schedule() const { return RetrySchedule(retry_); }

 private:
  enum class Redirects { kAll, kSameOrigin };
  Answer given_up(Answer answer) const;  // kCancelled where the user wanted the end
  Answer follow(http::HttpRequest::Method method, const std::string& url, http::HttpHeaders headers,
                http::HttpSink& sink, Redirects redirects);

  std::atomic<bool> answered_ = false;  // by any server
  http::HttpClient& client_;
  const HubSettings& settings_;
  RetryPolicy retry_;
  Pause& pause_;
  PullObserver& observer_;
};

// The status or the failure and the URL, in one line.
std::string describe(const Answer& answer);

}  // namespace millrace::hub

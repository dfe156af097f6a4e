#include "hub/transport.h"

#include <fmt/core.h>

#include "checkpoint/quote_name.h"
#include "http/client/text_sink.h"

namespace millrace::hub {
namespace {

constexpr int kMaxRedirects = 10;
constexpr std::uint64_t kMaxRedirectBytes = 64 << 10;

bool is_redirect(const http::HttpResponse& response) {
  const int status = response.status;
  return (status == 301 || status == 302 || status == 303 || status == 307 || status == 308) &&
         response.headers.find("location") != nullptr;
}

// Passes on the last response alone. The body of a redirect is read, to keep the connection, and dropped.
class LastResponse final : public http::HttpSink {
 public:
  explicit LastResponse(http::HttpSink& inner) : inner_(inner) {}
  bool begin(const http::HttpResponse& head) override {
    redirect_ = is_redirect(head);
    dropped_ = 0;
    return redirect_ || inner_.begin(head);
  }
  bool write(std::span<const std::byte> body) override {
    if (!redirect_) return inner_.write(body);
    dropped_ += body.size();
    return dropped_ <= kMaxRedirectBytes;
  }

 private:
  http::HttpSink& inner_;
  bool redirect_ = false;
  std::uint64_t dropped_ = 0;
};

http::HttpFailure protocol_failure(std::string message) {
  return http::HttpFailure{http::HttpFailure::Kind::kProtocol, std::move(message)};
}

}  // namespace

Answer HubTransport::follow(http::HttpRequest::Method method, const std::string& url, http::HttpHeaders headers,
                            http::HttpSink& sink, Redirects redirects) {
  Answer answer;
  const auto endpoint = parse_url(settings_.endpoint);
  auto next = parse_url(url);
  if (!endpoint || !next) {
    answer.outcome = protocol_failure((endpoint ? next : endpoint).error().message);
    return answer;
  }
  LastResponse last(sink);
  for (int followed = 0;; ++followed) {
    answer.url = *next;
    const bool at_home = next->origin == endpoint->origin;
    if (!at_home) headers.remove("If-Range");
    http::HttpRequest request{.method = method, .url = next->text, .headers = headers};
    request.headers.add("Accept-Encoding", "identity");  // sizes and ranges are those of the file
    answer.token_sent = at_home && !settings_.token.empty();
    if (answer.token_sent) request.headers.add("Authorization", "Bearer " + settings_.token);
    request.cancelled = [this] { return observer_.cancelled(); };
    answer.outcome = client_.exchange(request, last);
    const http::HttpResponse* response = answer.response();
    if (response != nullptr) answered_ = true;
    if (response == nullptr || !is_redirect(*response)) return answer;
    next = resolve_url(answer.url, *response->headers.find("location"));
    if (!next) {
      answer.outcome = protocol_failure("redirect to " + next.error().message);
      return answer;
    }
    if (redirects == Redirects::kSameOrigin && next->origin != answer.url.origin) return answer;
    if (answer.url.secure && !next->secure) {
      answer.outcome = protocol_failure(fmt::format("redirect from https to {}, refused", next->shown));
      return answer;
    }
    if (followed + 1 > kMaxRedirects) {
      answer.outcome = protocol_failure(fmt::format("more than {} redirects", kMaxRedirects));
      return answer;
    }
  }
}

Answer HubTransport::get(const std::string& url, const http::HttpHeaders& headers, http::HttpSink& sink) {
  return follow(http::HttpRequest::Method::kGet, url, headers, sink, Redirects::kAll);
}

Answer HubTransport::head(const std::string& url) {
  RetrySchedule schedule = new_schedule();
  for (;;) {
    http::TextSink nothing(0);
    Answer answer = follow(http::HttpRequest::Method::kHead, url, {}, nothing, Redirects::kSameOrigin);
    if (!is_worth_a_retry(answer)) return answer;
    if (!wait(schedule, answer, "")) return given_up(std::move(answer));
  }
}

HubTransport::Text HubTransport::get_text(const std::string& url, std::uint64_t limit_bytes) {
  RetrySchedule schedule = new_schedule();
  for (;;) {
    http::TextSink sink(limit_bytes);
    Text text{get(url, {}, sink), {}};
    if (const http::HttpFailure* failure = text.answer.failure()) {
      if (failure->kind == http::HttpFailure::Kind::kStopped) {
        text.answer.outcome = protocol_failure(fmt::format("more than {} bytes", limit_bytes));
      }
    } else {
      text.body = sink.take();
    }
    if (!is_worth_a_retry(text.answer)) return text;
    if (!wait(schedule, text.answer, "")) {
      text.answer = given_up(std::move(text.answer));
      return text;
    }
  }
}

Answer HubTransport::given_up(Answer answer) const {
  if (observer_.cancelled()) answer.outcome = http::HttpFailure{http::HttpFailure::Kind::kCancelled, "interrupted"};
  return answer;
}

bool HubTransport::is_worth_a_retry(const Answer& answer) const {
  if (const http::HttpResponse* response = answer.response()) return is_transient(response->status);
  const http::HttpFailure::Kind kind = answer.failure()->kind;
  return is_transient(kind) && (kind != http::HttpFailure::Kind::kUnresolved || answered_);
}

bool HubTransport::wait(RetrySchedule& schedule, const Answer& answer, const std::string& what) {
  std::optional<std::chrono::milliseconds> asked;
  if (const http::HttpResponse* response = answer.response()) asked = retry_after(response->headers, pause_.now());
  const auto delay = schedule.next(asked);
  if (!delay) return false;
  observer_.note(fmt::format("{}{}; trying again in {:.1f} s", what.empty() ? "" : what + ": ", describe(answer),
                             static_cast<double>(delay->count()) / 1000.0));
  return pause_.sleep(*delay);
}

std::string describe(const Answer& answer) {
  if (const http::HttpResponse* response = answer.response()) {
    return fmt::format("HTTP {} from {}", response->status, answer.url.shown);
  }
  return fmt::format("{}: {}", answer.url.shown, answer.failure()->message);
}

}  // namespace millrace::hub

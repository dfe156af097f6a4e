#include "servers/server_link.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "http/client/curl_client.h"
#include "http/client/text_sink.h"
#include "loadtest/client/event_reader.h"
#include "printable.h"

namespace millrace::app {
namespace {

using nlohmann::json;

constexpr std::size_t kMaxReply = std::size_t{64} << 20;

// What the server says is wrong, as it may be shown; empty: it does not say.
std::string told(const std::string& body) {
  const json error = json::parse(body, nullptr, false);
  if (!error.is_object() || !error.contains("error")) return "";
  const json& what = error["error"];
  if (what.is_string()) return printable(what.get<std::string>());
  if (!what.is_object() || !what.contains("message") || !what["message"].is_string()) return "";
  return printable(what["message"].get<std::string>());
}

ErrorCode code_of(int status) {
  if (status == 404) return ErrorCode::kNotFound;
  return status >= 400 && status < 500 && status != 409 && status != 429 ? ErrorCode::kInvalidArgument
                                                                         : ErrorCode::kUnavailable;
}

Error rejection(const std::string& server, int status, const std::string& body) {
  std::string why = told(body);
  if (why.empty()) why = fmt::format("status {}", status);
  if (status == 401) why += ": --api-key or MILLRACE_API_KEY gives the key";
  return make_error(code_of(status), "url", "{}: {}", server, why);
}

// Hands the events of a stream on, and keeps the body of a reply that is none.
class EventSink final : public http::HttpSink {
 public:
  using OnEvent = std::function<Result<void>(const json& event)>;
  explicit EventSink(const OnEvent& on_event) : on_event_(on_event) {}

  bool begin(const http::HttpResponse& head) override {
    status = head.status;
    return true;
  }
  bool write(std::span<const std::byte> bytes) override {
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (status != 200) {
      body.append(text.substr(0, kMaxReply - std::min(kMaxReply, body.size())));
      return true;
    }
    while (events_.next(text)) {
      if (auto fine = take(events_.data()); !fine) {
        error = fine.error();
        return false;
      }
    }
    return !events_.too_long();
  }

  int status = 0;
  std::string body;
  bool done = false;  // "[DONE]" has come
  std::optional<Error> error;

 private:
  Result<void> take(const std::string& data) {
    if (data == "[DONE]") {
      done = true;
      return {};
    }
    const json event = json::parse(data, nullptr, false);
    if (!event.is_object()) return Error{ErrorCode::kUnavailable, "url", "an event is no JSON object"};
    if (event.contains("error")) return Error{ErrorCode::kUnavailable, "url", told(data)};
    return on_event_(event);
  }

  const OnEvent& on_event_;
  loadtest::EventReader events_;
};

}  // namespace

void declare_server_access(CLI::App& app, ServerAddress& address) {
  app.add_option("--api-key", address.api_key, "API key of the server, sent as a bearer token")
      ->envname("MILLRACE_API_KEY");
  app.add_option("--cacert", address.ca_file,
                 "PEM file of the certificates to trust; default that of SSL_CERT_FILE, or the system's")
      ->check(CLI::ExistingFile);
  app.add_flag("--insecure", address.insecure, "Accept any TLS certificate of the server");
}

std::string trusted_certificates(const ServerAddress& address) {
  if (!address.ca_file.empty()) return address.ca_file;
  const char* set = std::getenv("SSL_CERT_FILE");
  return set == nullptr ? "" : set;
}

std::string server_root(std::string url) {
  if (url.find("://") == std::string::npos) url = "http://" + url;
  return url.substr(0, url.find_first_of("/?#", url.find("://") + 3));
}

ServerLink::ServerLink(ServerAddress address)
    : address_(std::move(address)),
      base_(address_.socket.empty() ? server_root(address_.url) : "http://localhost"),
      name_(printable(address_.socket.empty() ? base_ : address_.socket)),
      client_(http::make_curl_client({.ca_file = trusted_certificates(address_),
                                      .connect_seconds = 5,
                                      .stalled_seconds = 0,  // a long prompt takes its time
                                      .unix_socket = address_.socket,
                                      .insecure = address_.insecure,
                                      .proxies = address_.socket.empty()})) {}

http::HttpRequest ServerLink::request(const std::string& path, const Cancelled& cancelled) const {
  http::HttpRequest out{.url = base_ + path};
  if (!address_.api_key.empty()) out.headers.add("Authorization", "Bearer " + address_.api_key);
  out.cancelled = cancelled;
  return out;
}

Error ServerLink::failure(const http::HttpFailure& why) const {
  const bool cancelled = why.kind == http::HttpFailure::Kind::kCancelled;
  return make_error(cancelled ? ErrorCode::kCancelled : ErrorCode::kUnavailable, "url", "{}: {}", name_,
                    printable(why.message));
}

Result<json> ServerLink::exchange(const http::HttpRequest& request) {
  http::TextSink body(kMaxReply);
  const auto outcome = client_->exchange(request, body);
  if (const auto* why = std::get_if<http::HttpFailure>(&outcome)) return failure(*why);
  const int status = std::get<http::HttpResponse>(outcome).status;
  const std::string text = body.take();
  if (status != 200) return rejection(name_, status, text);
  json reply = json::parse(text, nullptr, false);
  if (reply.is_discarded()) {
    return make_error(ErrorCode::kUnavailable, "url", "{}: the reply is no JSON: is this a server of models?", name_);
  }
  return reply;
}

Result<json> ServerLink::get(const std::string& path, const Cancelled& cancelled) {
  return exchange(request(path, cancelled));
}

Result<json> ServerLink::post(const std::string& path, const json& body, const Cancelled& cancelled) {
  http::HttpRequest out = request(path, cancelled);
  out.method = http::HttpRequest::Method::kPost;
  out.headers.add("Content-Type", "application/json");
  out.body = body.dump(-1, ' ', false, json::error_handler_t::replace);  // a paste may be no UTF-8
  return exchange(out);
}

Result<void> ServerLink::stream(const std::string& path, const json& body,
                                const std::function<Result<void>(const json& event)>& on_event,
                                const Cancelled& cancelled) {
  http::HttpRequest out = request(path, cancelled);
  out.method = http::HttpRequest::Method::kPost;
  out.headers.add("Content-Type", "application/json");
  out.body = body.dump(-1, ' ', false, json::error_handler_t::replace);  // a paste may be no UTF-8
  EventSink sink(on_event);
  const auto outcome = client_->exchange(out, sink);
  if (sink.error) return make_error(sink.error->code, sink.error->param, "{}: {}", name_, sink.error->message);
  if (const auto* why = std::get_if<http::HttpFailure>(&outcome)) return failure(*why);
  if (sink.status != 200) return rejection(name_, sink.status, sink.body);
  if (!sink.done) return make_error(ErrorCode::kUnavailable, "url", "{}: the answer ended early", name_);
  return {};
}

}  // namespace millrace::app

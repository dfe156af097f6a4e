#include "http/client/curl_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <mutex>
#include <vector>

#include "base/lower_case.h"

namespace millrace::http {
namespace {

constexpr long kSlowBytesPerSecond = 1024;
constexpr std::size_t kMaxHeaderBytes = 256 << 10;

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using List = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// What libcurl's callbacks see of one exchange.
struct Exchange {
  const HttpRequest* request;
  HttpSink* sink;
  HttpResponse response{};
  std::size_t header_bytes = 0;
  bool begun = false, stopped = false, cancelled = false, too_long = false;

  // Tells the sink of the response, once; false = it wants no more.
  bool begin() {
    if (!begun) stopped = !sink->begin(response);
    begun = true;
    return !stopped;
  }
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

// Called for each line, also of responses that another follows (100, a proxy's answer to CONNECT): the last one counts.
std::size_t take_header(char* data, std::size_t, std::size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  const std::string_view line(data, size);
  exchange.header_bytes += size;
  if (exchange.header_bytes > kMaxHeaderBytes) {
    exchange.too_long = true;
    return 0;
  }
  if (line.starts_with("HTTP/")) {
    exchange.response = {};
    const std::string_view status = line.substr(std::min(line.find(' '), size - 1) + 1).substr(0, 3);
    std::from_chars(status.data(), status.data() + status.size(), exchange.response.status);
  } else if (const std::size_t colon = line.find(':'); colon != std::string_view::npos) {
    exchange.response.headers.add(lower_case(trimmed(line.substr(0, colon))),
                                  std::string(trimmed(line.substr(colon + 1))));
  }
  return size;
}

std::size_t take_body(char* data, std::size_t, std::size_t size, void* user) {
  auto& exchange = *static_cast<Exchange*>(user);
  if (exchange.begin() && exchange.sink->write(std::as_bytes(std::span(data, size)))) return size;
  exchange.stopped = true;
  return CURL_WRITEFUNC_ERROR;
}

int check_cancelled(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  auto& exchange = *static_cast<Exchange*>(user);
  exchange.cancelled = exchange.request->cancelled && exchange.request->cancelled();
  return exchange.cancelled ? 1 : 0;
}

HttpFailure::Kind kind_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return HttpFailure::Kind::kStalled;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR: return HttpFailure::Kind::kCut;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM: return HttpFailure::Kind::kTls;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return HttpFailure::Kind::kUnresolved;
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:  // most often a connection that broke while it was set up
    case CURLE_PROXY: return HttpFailure::Kind::kUnreachable;
    default: return HttpFailure::Kind::kProtocol;
  }
}

class CurlClient final : public HttpClient {
 public:
  explicit CurlClient(HttpOptions options) : options_(std::move(options)) {
    static std::once_flag once;
    std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  }

  std::variant<HttpResponse, HttpFailure> exchange(const HttpRequest& request, HttpSink& sink) override {
    Handle handle = take_handle();
    if (!handle) return HttpFailure{HttpFailure::Kind::kProtocol, "libcurl: out of memory"};
    Exchange state{&request, &sink};
    std::array<char, CURL_ERROR_SIZE> message{};
    List headers(nullptr, &curl_slist_free_all);
    for (const auto& [name, value] : request.headers) {
      curl_slist* longer = curl_slist_append(headers.get(), (name + ": " + value).c_str());
      if (longer == nullptr) return HttpFailure{HttpFailure::Kind::kProtocol, "libcurl: out of memory"};
      [[maybe_unused]] const curl_slist* shorter = headers.release();  // a part of `longer` now
      headers.reset(longer);
    }
    configure(handle.get(), request, state, headers.get(), message.data());
    const CURLcode code = curl_easy_perform(handle.get());
    if (code == CURLE_OK) state.begin();  // a response without a body
    curl_easy_reset(handle.get());        // keeps its connections
    put_handle(std::move(handle));
    if (state.cancelled) return HttpFailure{HttpFailure::Kind::kCancelled, "interrupted"};
    if (state.stopped) return HttpFailure{HttpFailure::Kind::kStopped, "stopped"};
    if (state.too_long) return HttpFailure{HttpFailure::Kind::kProtocol, "a header of more than 256 KiB"};
    if (code != CURLE_OK) {
      return HttpFailure{kind_of(code), message[0] != '\0' ? message.data() : curl_easy_strerror(code)};
    }
    return std::move(state.response);
  }

 private:
  void configure(CURL* handle, const HttpRequest& request, Exchange& state, curl_slist* headers, char* message) const {
    curl_easy_setopt(handle, CURLOPT_URL, request.url.c_str());
    curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
    // One connection a file: with HTTP/2 all files would share one, and its slowest window.
    curl_easy_setopt(handle, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(handle, CURLOPT_NOBODY, request.method == HttpRequest::Method::kHead ? 1L : 0L);
    if (request.method == HttpRequest::Method::kPost) {
      curl_easy_setopt(handle, CURLOPT_POST, 1L);
      curl_easy_setopt(handle, CURLOPT_POSTFIELDS, request.body.data());
      curl_easy_setopt(handle, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    }
    curl_easy_setopt(handle, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle, CURLOPT_PROXYHEADER, nullptr);
    curl_easy_setopt(handle, CURLOPT_HEADEROPT, static_cast<long>(CURLHEADER_SEPARATE));  // no token to a proxy
    curl_easy_setopt(handle, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    curl_easy_setopt(handle, CURLOPT_USERAGENT, options_.user_agent.c_str());
    curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, static_cast<long>(options_.connect_seconds));
    if (!options_.unix_socket.empty()) {
      curl_easy_setopt(handle, CURLOPT_UNIX_SOCKET_PATH, options_.unix_socket.c_str());
    }
    if (options_.insecure) {
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYPEER, 0L);
      curl_easy_setopt(handle, CURLOPT_SSL_VERIFYHOST, 0L);
    }
    if (!options_.proxies) curl_easy_setopt(handle, CURLOPT_PROXY, "");
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
    curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, static_cast<long>(options_.stalled_seconds));
    curl_easy_setopt(handle, CURLOPT_BUFFERSIZE, 256L << 10);
    if (!options_.ca_file.empty()) curl_easy_setopt(handle, CURLOPT_CAINFO, options_.ca_file.c_str());
    curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, message);
    curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, &take_header);
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, &state);
    curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, &take_body);
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, &state);
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, &check_cancelled);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, &state);
  }

  Handle take_handle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return Handle(curl_easy_init(), &curl_easy_cleanup);
    Handle handle = std::move(idle_.back());
    idle_.pop_back();
    return handle;
  }
  void put_handle(Handle handle) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(handle));
  }

  const HttpOptions options_;
  std::mutex mutex_;
  std::vector<Handle> idle_;  // guarded by mutex_
};

}  // namespace

std::unique_ptr<HttpClient> make_curl_client(HttpOptions options) {
  return std::make_unique<CurlClient>(std::move(options));
}

}  // namespace millrace::http

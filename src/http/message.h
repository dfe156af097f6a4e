#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::http {

// Header fields in order of arrival, with names in lower case. Lookups are linear, since there are few.
class Headers {
 public:
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // The value of the first field with that name in lower case; "" if there is none.
  std::string_view get(std::string_view name) const noexcept {
    for (const auto& [key, value] : fields_) {
      if (key == name) return value;
    }
    return {};
  }
  bool has(std::string_view name) const noexcept {
    for (const auto& [key, value] : fields_) {
      if (key == name) return true;
    }
    return false;
  }
  auto begin() const noexcept { return fields_.begin(); }
  auto end() const noexcept { return fields_.end(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

// Request::peer over ServerConfig::owner_socket, which only the user who runs the server can open.
inline constexpr std::string_view kOwnerPeer = "owner";

struct Request {
  std::string method;  // as sent
  std::string path;    // as sent, from '/' to before '?'; neither decoded nor normalised
  std::string query;   // after the '?'
  Headers headers;
  std::string body;
  std::string peer;  // the client's address; "unix" on a Unix socket, kOwnerPeer on the owner's
  std::chrono::steady_clock::time_point received{};
};

// A body that is produced piece by piece, as server-sent events are. Called on its connection's thread only. Destroyed
// when all of it was sent, or the client has left.
class StreamBody {
 public:
  virtual ~StreamBody() = default;
  // Appends what can be sent now, possibly nothing; returns false at the end. Called again after each write and each
  // wake.
  virtual bool take(std::string& out) = 0;
  // Called when nothing was sent for a while; returns bytes that keep proxies and clients from giving up.
  virtual std::string_view keep_alive() const noexcept { return {}; }
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::unique_ptr<StreamBody> stream = {};  // instead of body
  Headers headers = {};                     // in addition to content type and length
  // Why the request was rejected, as one word for logs; empty if it was not, or if the application has logged it
  // itself.
  std::string rejection = {};
};

// Makes the reply to one request. Called on its connection's thread only. Destroyed early if the client leaves before
// there is a reply, which is the sign to stop working.
class Responder {
 public:
  virtual ~Responder() = default;
  // The reply, or nothing yet. Called once at the beginning and after each wake.
  virtual std::optional<Reply> poll() = 0;
  // Called when nothing was sent for a while. Returns the head of a streamed reply if it is certain that there will be
  // one; sending it keeps proxies and clients from giving up. Later failures must be reported in the stream.
  virtual std::optional<Reply> promise() { return std::nullopt; }
  // When poll() is to be called next even without a wake, to about a quarter of a second. Asked for after each poll().
  virtual std::chrono::steady_clock::time_point due() const noexcept {
    return std::chrono::steady_clock::time_point::max();
  }
};

// Makes the connection call its Responder or StreamBody again. Any thread and any time, also after the connection has
// ended; never blocks.
using Wake = std::function<void()>;

// A reply that is available at once.
class ReadyReply final : public Responder {
 public:
  explicit ReadyReply(Reply reply) : reply_(std::move(reply)) {}
  std::optional<Reply> poll() override { return std::move(reply_); }

 private:
  Reply reply_;
};

// One finished exchange, for logs and metrics.
struct Exchange {
  std::string method, path, peer, request_id;
  int status = 0;         // status of the reply; 499: the client left first
  std::string rejection;  // of the reply
  double seconds = 0.0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
};

// The application behind the server. Called from all IO threads.
class Application {
 public:
  virtual ~Application() = default;
  // Called when the head is complete and the body has not been read. Returns the reply if the request is rejected here.
  virtual std::optional<Reply> reject(const Request& head) = 0;
  virtual std::unique_ptr<Responder> handle(Request request, Wake wake) = 0;
  // The reply to an error that the connection itself found: 400, 408, 413, 417, 431, 503, 505.
  virtual Reply error(int status, std::string_view what) = 0;
  virtual void finished(const Exchange& exchange) = 0;
};

}  // namespace millrace::http

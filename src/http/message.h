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

// Header fields in the order they came; names in lower case. Few, so looked up one after the other.
class Headers {
 public:
  void add(std::string name, std::string value) { fields_.emplace_back(std::move(name), std::move(value)); }
  // The first field of that lower-case name; "" if there is none.
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

struct Request {
  std::string method;  // as sent
  std::string path;    // as sent, from '/' to the '?'; nothing is decoded or normalised
  std::string query;   // after the '?'
  Headers headers;
  std::string body;
  std::string peer;  // the client's address; "unix" on a Unix socket
  std::chrono::steady_clock::time_point received{};
};

// A body that comes bit by bit, as server-sent events do. Called on its connection's thread only; destroyed when all of
// it was sent or the client has left.
class StreamBody {
 public:
  virtual ~StreamBody() = default;
  // Appends what can be sent now, perhaps nothing; false once that was the end. Asked again after each write and after
  // each wake.
  virtual bool take(std::string& out) = 0;
  // Nothing was sent for a while: what keeps proxies and clients from giving up.
  virtual std::string_view keep_alive() const noexcept { return {}; }
};

struct Reply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body = {};
  std::unique_ptr<StreamBody> stream = {};  // instead of body
  Headers headers = {};                     // besides type and length
  // Why the request was refused, in a word, for logs; empty where it was not, or the application has
  // logged it itself.
  std::string rejection = {};
};

// Makes the reply to one request. Called on its connection's thread only; destroyed, as a sign to stop working, when
// the client leaves before there was one.
class Responder {
 public:
  virtual ~Responder() = default;
  // The reply, or nothing yet. Asked once at the beginning and after each wake.
  virtual std::optional<Reply> poll() = 0;
  // Nothing was sent for a while: the head of a reply whose body comes as a stream, where it is certain that there will
  // be one. Keeps proxies and clients from giving up; what goes wrong from then on is the stream's to say.
  virtual std::optional<Reply> promise() { return std::nullopt; }
};

// Has the connection ask its Responder or StreamBody again. Any thread, any time, also after the connection has gone;
// never blocks.
using Wake = std::function<void()>;

// A reply that is there at once.
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
  int status = 0;         // 499: the client left first
  std::string rejection;  // of the reply
  double seconds = 0.0;
  std::uint64_t bytes_in = 0, bytes_out = 0;
};

// What stands behind the sockets. Called from all IO threads.
class Application {
 public:
  virtual ~Application() = default;
  // After the head and before the body was read: the refusal, if this request goes no further.
  virtual std::optional<Reply> reject(const Request& head) = 0;
  virtual std::unique_ptr<Responder> handle(Request request, Wake wake) = 0;
  // The body of an error found by the connection itself: 400, 408, 413, 417, 431, 503, 505.
  virtual Reply error(int status, std::string_view what) = 0;
  virtual void finished(const Exchange& exchange) = 0;
};

}  // namespace millrace::http

// Any bytes from a client, in any pieces: the same requests reach the application and the same replies come back
// however the bytes were cut.

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "http/connection.h"

namespace {

using namespace millrace;

// Says what it was asked, so that a difference shows.
class Echo final : public http::Application {
 public:
  std::optional<http::Reply> reject(const http::Request& head) override {
    if (head.path == "/refused") return http::Reply{.status = 403, .body = "refused"};
    return std::nullopt;
  }
  std::unique_ptr<http::Responder> handle(http::Request request, http::Wake) override {
    std::string text = request.method + " " + request.path + "?" + request.query + "\n";
    for (const auto& [name, value] : request.headers) text += name + "=" + value + "\n";
    return std::make_unique<http::ReadyReply>(http::Reply{.body = text + request.body});
  }
  http::Reply error(int status, std::string_view what) override {
    return {.status = status, .body = std::string(what)};
  }
  void finished(const http::Exchange& exchange) override {
    if (exchange.status < 200 || exchange.status > 599) std::abort();
  }
};

class Client {
 public:
  explicit Client(Echo& echo) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends.data()) != 0) std::abort();
    mine_ = ends[0];
    http::UnixStream theirs(loop_->io(), boost::asio::local::stream_protocol(), ends[1]);
    std::make_shared<http::Connection<http::UnixStream>>(std::move(theirs),
                                                         http::FollowContext{echo, limits_, loop_, "unix", nullptr})
        ->start();
  }
  ~Client() {
    ::close(mine_);
    while (loop_->io().poll() > 0) {  // until the other end has gone too
    }
  }
  void send(std::span<const std::uint8_t> bytes) {
    static_cast<void>(!::send(mine_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    run();
  }
  std::string received() const { return plain(received_); }

 private:
  void run() {
    std::array<char, 16 << 10> piece;
    bool more = true;
    while (more) {
      more = loop_->io().poll() > 0;
      for (ssize_t n; (n = ::recv(mine_, piece.data(), piece.size(), 0)) > 0; more = true) {
        received_.append(piece.data(), static_cast<std::size_t>(n));
      }
    }
  }
  // Without what depends on the time, and without the leave to go on, which is only given where the body is not there.
  static std::string plain(std::string text) {
    const auto remove = [&](std::string_view begin, std::string_view end) {
      for (std::size_t at; (at = text.find(begin)) != std::string::npos;) {
        text.erase(at, text.find(end, at) + end.size() - at);
      }
    };
    remove("HTTP/1.1 100 ", "\r\n\r\n");
    remove("\r\ndate: ", "GMT");
    return text;
  }

  // Small, so that a fuzzer finds them.
  static constexpr http::Limits limits_{.header_bytes = 1024, .headers = 8, .body_bytes = 512};
  static inline const std::shared_ptr<http::IoLoop> loop_ = std::make_shared<http::IoLoop>();  // nobody's thread
  int mine_ = -1;
  std::string received_;
};

}  // namespace

// The first byte says how the rest is cut.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2 || size > 8192) return 0;
  Echo echo;
  std::uint32_t random = data[0];
  std::span<const std::uint8_t> bytes(data + 1, size - 1);
  Client at_once(echo), in_pieces(echo);
  at_once.send(bytes);
  while (!bytes.empty()) {
    random = random * 1664525u + 1013904223u;  // Numerical Recipes
    const std::size_t n = std::min<std::size_t>(bytes.size(), 1 + (random >> 24) % (1 + data[0] % 64u));
    in_pieces.send(bytes.first(n));
    bytes = bytes.subspan(n);
  }
  if (at_once.received() != in_pieces.received()) std::abort();
  return 0;
}

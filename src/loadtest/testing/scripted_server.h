#pragma once

#include <netinet/in.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

// For tests: a server that handles each connection by a function of the test.

namespace millrace::loadtest {

// The server's end of a connection. Owns the socket. One thread.
class Peer {
 public:
  explicit Peer(int fd, SSL* tls) : fd_(fd), tls_(tls) {}
  ~Peer() {
    if (tls_ != nullptr) SSL_free(tls_);
    ::close(fd_);
  }
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;

  // Waits for the next request, and returns head and body; "" if the client has closed the connection.
  std::string request() {
    std::size_t wanted = std::string::npos;
    while (unread_.size() < wanted) {
      const std::size_t end = unread_.find("\r\n\r\n");
      if (end != std::string::npos) {
        const std::size_t at = unread_.find("content-length: ");
        wanted = end + 4 + (at < end ? std::strtoull(unread_.c_str() + at + 16, nullptr, 10) : 0);
        if (unread_.size() >= wanted) break;
      }
      std::array<char, 65536> piece;
      const int n = tls_ != nullptr ? SSL_read(tls_, piece.data(), int{piece.size()})
                                    : static_cast<int>(::recv(fd_, piece.data(), piece.size(), 0));
      if (n <= 0) return "";
      unread_.append(piece.data(), static_cast<std::size_t>(n));
    }
    std::string request = unread_.substr(0, wanted);
    unread_.erase(0, wanted);
    return request;
  }
  // Writes all bytes; ignores a closed connection.
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const int n = tls_ != nullptr ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                                    : static_cast<int>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
      if (n <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  // Waits until the client closes the connection; not with TLS.
  void wait_until_left() {
    std::array<char, 65536> piece;
    while (::recv(fd_, piece.data(), piece.size(), 0) > 0) {
    }
  }

 private:
  const int fd_;
  SSL* const tls_;
  std::string unread_;
};

// Listens on a free port of 127.0.0.1, or on a Unix socket. The destructor waits until all connections are handled.
class ScriptedServer {
 public:
  // Calls `script` for each connection on a new thread, and closes the connection when it returns. `socket_path` is the
  // path of a Unix socket; empty: TCP. `tls`, if any, must outlive the server.
  explicit ScriptedServer(std::function<void(Peer&)> script, const std::string& socket_path = "",
                          SSL_CTX* tls = nullptr)
      : script_(std::move(script)), tls_(tls) {
    sockaddr_storage name{};
    socklen_t size = sizeof(sockaddr_in);
    if (socket_path.empty()) {
      auto& address = reinterpret_cast<sockaddr_in&>(name);
      address.sin_family = AF_INET;
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else {
      auto& address = reinterpret_cast<sockaddr_un&>(name);
      address.sun_family = AF_UNIX;
      socket_path.copy(address.sun_path, sizeof address.sun_path - 1);
      size = sizeof address;
    }
    listener_ = ::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&name), size) != 0 || ::listen(listener_, 512) != 0) std::abort();
    ::getsockname(listener_, reinterpret_cast<sockaddr*>(&name), &size);
    port_ = ntohs(reinterpret_cast<sockaddr_in&>(name).sin_port);
    accepting_ = std::thread([this] { accept(); });
  }
  ~ScriptedServer() {
    ::shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    for (std::thread& thread : threads_) thread.join();
    ::close(listener_);
  }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  int port() const noexcept { return port_; }
  // A script that calls `reply` for each request of a connection, with the text of the request.
  static std::function<void(Peer&)> each(std::function<void(Peer&, const std::string&)> reply) {
    return [reply = std::move(reply)](Peer& peer) {
      for (std::string request; !(request = peer.request()).empty();) reply(peer, request);
    };
  }

 private:
  void accept() {
    for (int fd; (fd = ::accept(listener_, nullptr, nullptr)) >= 0;) {
      threads_.emplace_back([this, fd] {
        SSL* tls = nullptr;
        if (tls_ != nullptr) {
          tls = SSL_new(tls_);
          SSL_set_fd(tls, fd);
          SSL_accept(tls);
        }
        Peer peer(fd, tls);
        script_(peer);
      });
    }
  }

  const std::function<void(Peer&)> script_;
  SSL_CTX* const tls_;
  int listener_ = -1, port_ = 0;
  std::thread accepting_;
  std::vector<std::thread> threads_;
};

}  // namespace millrace::loadtest

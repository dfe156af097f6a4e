#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct ssl_st;
struct ssl_ctx_st;

namespace millrace::loadtest {

struct Target;

// Shared by all TLS connections to a target: the trusted certificates, and the name that the server must have.
class TlsContext {
 public:
  explicit TlsContext(const Target& target);  // throws LoadError
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ssl_st* connect(int fd) const;  // the caller frees it

 private:
  ssl_ctx_st* context_ = nullptr;
  const std::string host_;
  const bool verify_;
};

// The bytes of one socket, connected or connecting, plain or under TLS. It owns the socket and never waits. The TLS
// handshake is part of the first write.
class ByteStream {
 public:
  struct Moved {
    enum class Kind { kBytes, kWait, kEnd } kind = Kind::kWait;
    std::size_t bytes = 0;
  };

  ByteStream(int fd, const TlsContext* tls);
  ~ByteStream();
  ByteStream(const ByteStream&) = delete;
  ByteStream& operator=(const ByteStream&) = delete;

  Moved read(std::span<char> into);
  Moved write(std::string_view bytes);
  int fd() const noexcept { return fd_; }
  // Whether the last read or write waits until the socket accepts bytes; under TLS, reads may too.
  bool wants_write() const noexcept { return read_blocked_ || write_blocked_; }
  // Reason of the first kEnd; "" = closed in order.
  const std::string& problem() const noexcept { return problem_; }
  // Whether the other end has closed the connection, or sent unexpected bytes; no request should use it any more.
  bool stale() const;

 private:
  Moved tls_result(int result, bool& blocked);
  Moved socket_result(ssize_t result);

  const int fd_;
  ssl_st* tls_ = nullptr;
  bool read_blocked_ = false, write_blocked_ = false;
  std::string problem_;
};

}  // namespace millrace::loadtest

#include "loadtest/client/byte_stream.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/result.h"
#include "loadtest/target.h"

namespace millrace::loadtest {
namespace {

bool is_address(const std::string& host) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return ::inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL: a peer that has gone would end the process.
int descriptor(BIO* bio) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(bio))); }

int bio_result(BIO* bio, ssize_t n, int retry) {
  BIO_clear_retry_flags(bio);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN || errno == EINPROGRESS)) {
    BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
  }
  return static_cast<int>(n);
}
int bio_write(BIO* bio, const char* data, int size) {
  return bio_result(bio, ::send(descriptor(bio), data, static_cast<std::size_t>(size), MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}
int bio_read(BIO* bio, char* data, int size) {
  return bio_result(bio, ::recv(descriptor(bio), data, static_cast<std::size_t>(size), 0), BIO_FLAGS_READ);
}
long bio_control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }

const BIO_METHOD* socket_method() {
  static const BIO_METHOD* const method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "quiet socket");
    BIO_meth_set_write(made, bio_write);
    BIO_meth_set_read(made, bio_read);
    BIO_meth_set_ctrl(made, bio_control);
    return made;
  }();
  return method;
}

std::string tls_problem(const ssl_st* tls) {
  const long verified = SSL_get_verify_result(tls);
  const unsigned long code = ERR_get_error();
  const char* const reason = ERR_reason_error_string(code);
  std::string text = reason != nullptr ? std::string("TLS: ") + reason : "TLS: the connection was reset";
  if (ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    text += std::string(" (") + X509_verify_cert_error_string(verified) + ")";
  }
  return text;
}

}  // namespace

TlsContext::TlsContext(const Target& target)
    : context_(SSL_CTX_new(TLS_client_method())), host_(target.host), verify_(!target.insecure) {
  if (context_ == nullptr) throw_load_error(ErrorCode::kInternal, "tls", "no TLS: OpenSSL gave no context");
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_verify(context_, verify_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_default_verify_paths(context_);
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

ssl_st* TlsContext::connect(int fd) const {
  ssl_st* const tls = SSL_new(context_);
  BIO* const bio = BIO_new(socket_method());
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
  BIO_set_init(bio, 1);
  SSL_set_bio(tls, bio, bio);
  if (is_address(host_)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), host_.c_str());
  } else {
    SSL_set1_host(tls, host_.c_str());
    SSL_set_tlsext_host_name(tls, host_.c_str());
  }
  SSL_set_connect_state(tls);
  return tls;
}

ByteStream::ByteStream(int fd, const TlsContext* tls) : fd_(fd), tls_(tls != nullptr ? tls->connect(fd) : nullptr) {}

ByteStream::~ByteStream() {
  if (tls_ != nullptr) SSL_free(tls_);
  ::close(fd_);
}

ByteStream::Moved ByteStream::socket_result(ssize_t result) {
  if (result > 0) return {Moved::Kind::kBytes, static_cast<std::size_t>(result)};
  if (result < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (result < 0 && problem_.empty()) problem_ = std::strerror(errno);
  return {Moved::Kind::kEnd, 0};
}

ByteStream::Moved ByteStream::tls_result(int result, bool& blocked) {
  blocked = false;
  if (result > 0) return {Moved::Kind::kBytes, static_cast<std::size_t>(result)};
  switch (SSL_get_error(tls_, result)) {
    case SSL_ERROR_WANT_WRITE: blocked = true; return {};
    case SSL_ERROR_WANT_READ: return {};
    case SSL_ERROR_ZERO_RETURN: return {Moved::Kind::kEnd, 0};
    default:
      if (problem_.empty()) problem_ = tls_problem(tls_);
      return {Moved::Kind::kEnd, 0};
  }
}

ByteStream::Moved ByteStream::read(std::span<char> into) {
  if (tls_ == nullptr) return socket_result(::recv(fd_, into.data(), into.size(), 0));
  ERR_clear_error();
  return tls_result(SSL_read(tls_, into.data(), static_cast<int>(into.size())), read_blocked_);
}

ByteStream::Moved ByteStream::write(std::string_view bytes) {
  if (tls_ == nullptr) {
    const Moved moved = socket_result(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    write_blocked_ = moved.kind == Moved::Kind::kWait;
    return moved;
  }
  constexpr std::size_t kMax = 1 << 30;
  ERR_clear_error();
  return tls_result(SSL_write(tls_, bytes.data(), static_cast<int>(std::min(bytes.size(), kMax))), write_blocked_);
}

bool ByteStream::stale() const {
  // TLS has news of its own to tell on an idle connection (tickets for later), plain HTTP has not.
  char byte;
  const ssize_t n = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n == 0 || (n > 0 && tls_ == nullptr) || (n < 0 && errno != EAGAIN && errno != EINTR);
}

}  // namespace millrace::loadtest

#include "http/wire.h"

#include <poll.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <type_traits>

namespace millrace::http {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr std::size_t kPiece = 8 << 10;  // bytes of one read
constexpr double kLingerSeconds = 2.0;

template <typename Stream>
constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

auto resume(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

}  // namespace

template <typename Stream>
Wire<Stream>::Wire(Stream stream, std::shared_ptr<IoLoop> loop)
    : stream_(std::move(stream)),
      loop_(std::move(loop)),
      signal_(loop_->io(), TimePoint::max()),
      piece_(new char[kPiece]) {}

template <typename Stream>
asio::awaitable<void> Wire<Stream>::handshake(double seconds) {
  if constexpr (kIsTls<Stream>) {
    set_deadline(seconds);
    writing_ = true;  // nothing can be said to who takes too long
    error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server, resume(error));
    writing_ = false;
    set_deadline(0.0);
    if (error) gone_ = true;
  }
  co_return;
}

template <typename Stream>
void Wire<Stream>::start_read() {
  if (reading_ || gone_ || silent_ || unread_.size() >= kReadAhead) return;
  reading_ = true;
  stream_.async_read_some(asio::buffer(piece_.get(), kPiece),
                          [self = this->shared_from_this()](const error_code& error, std::size_t n) {
                            self->reading_ = false;
                            self->unread_.append(self->piece_.get(), n);
                            self->bytes_in_ += n;
                            if (error) self->read_failed(error);
                            self->start_read();
                            self->notify();
                          });
}

// A client may close its sending side and go on reading (RFC 9112 §9.6; over TLS 1.3 with a close_notify, RFC 8446
// §6.1). A TLS connection that ends without one was cut.
template <typename Stream>
void Wire<Stream>::read_failed(const error_code& error) {
  if (error != asio::error::eof) {
    gone_ = true;
    return;
  }
  silent_ = true;
  pollfd look{socket().native_handle(), 0, 0};
  gone_ = ::poll(&look, 1, 0) > 0 && (look.revents & (POLLHUP | POLLERR)) != 0;
  if (gone_) return;
  socket().async_wait(asio::socket_base::wait_error, [self = this->shared_from_this()](const error_code&) {
    self->gone_ = true;  // reset, or closed by us
    self->notify();
  });
}

template <typename Stream>
asio::awaitable<bool> Wire<Stream>::write(std::string_view bytes, double idle_seconds) {
  if (gone_) co_return false;
  error_code error;
  set_deadline(idle_seconds);
  writing_ = true;
  co_await asio::async_write(stream_, asio::buffer(bytes), resume(error));
  writing_ = false;
  set_deadline(0.0);
  bytes_out_ += bytes.size();
  if (error) gone_ = true;
  co_return !error;
}

// A client that has closed its whole socket looks the same as one that has closed half of it, until something is sent:
// an interim reply, which every client of HTTP/1.1 passes over (RFC 9110 §15.2), is answered with a reset.
template <typename Stream>
asio::awaitable<void> Wire<Stream>::probe(double idle_seconds) {
  if (!silent_ || probed_ || gone_) co_return;
  probed_ = true;
  co_await write("HTTP/1.1 100 Continue\r\n\r\n", idle_seconds);
}

template <typename Stream>
asio::awaitable<void> Wire<Stream>::linger() {
  error_code ignored;
  if constexpr (kIsTls<Stream>) {
    writing_ = true;
    set_deadline(kLingerSeconds);
    co_await stream_.async_shutdown(resume(ignored));
    writing_ = false;
  } else {
    socket().shutdown(asio::socket_base::shutdown_send, ignored);
    set_deadline(kLingerSeconds);
    while (!gone_ && !silent_ && !timed_out_) {
      unread_.clear();
      start_read();
      co_await event();
    }
  }
}

template <typename Stream>
void Wire<Stream>::close() {
  error_code ignored;
  gone_ = true;
  socket().close(ignored);
  notify();
}

template <typename Stream>
asio::awaitable<void> Wire<Stream>::event() {
  error_code ignored;
  if (!pending_) co_await signal_.async_wait(resume(ignored));
  pending_ = false;
}

template <typename Stream>
void Wire<Stream>::notify() {
  pending_ = true;
  signal_.cancel();
}

// The wake outlives connection and server: it holds the loop, and finds the wire only on the loop's thread.
template <typename Stream>
Wake Wire<Stream>::make_wake() {
  return [loop = loop_, weak = this->weak_from_this(), posted = std::make_shared<std::atomic<bool>>(false)] {
    if (posted->exchange(true)) return;
    asio::post(loop->io(), [weak, posted] {
      *posted = false;
      if (const auto self = weak.lock()) self->notify();
    });
  };
}

template <typename Stream>
void Wire<Stream>::set_deadline(double seconds) {
  timed_out_ = false;
  deadline_ = seconds > 0.0 ? std::chrono::steady_clock::now() + std::chrono::milliseconds(std::int64_t(seconds * 1e3))
                            : TimePoint::max();
}

template <typename Stream>
bool Wire<Stream>::expire(TimePoint now) {
  if (now < deadline_) return false;
  deadline_ = TimePoint::max();
  timed_out_ = true;
  writing_ ? close() : notify();
  return true;
}

template class Wire<TcpStream>;
template class Wire<UnixStream>;
template class Wire<TlsStream>;

}  // namespace millrace::http

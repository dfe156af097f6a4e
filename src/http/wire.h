#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/io_loop.h"
#include "http/message.h"

namespace millrace::http {

using TcpStream = boost::asio::ip::tcp::socket;
using UnixStream = boost::asio::local::stream_protocol::socket;
using TlsStream = boost::asio::ssl::stream<TcpStream>;

// The bytes of one client in both directions, and whether it is still connected. It reads in the background, up to
// kReadAhead bytes that were not consumed, so that a client that leaves is noticed at any time. Used on the loop's
// thread only; one write at a time.
template <typename Stream>
class Wire final : public std::enable_shared_from_this<Wire<Stream>> {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;
  static constexpr std::size_t kReadAhead = 32 << 10;  // limit of bytes that were read and not consumed

  Wire(Stream stream, std::shared_ptr<IoLoop> loop);

  // Performs the TLS handshake; does nothing for other streams. A client that takes longer counts as gone.
  boost::asio::awaitable<void> handshake(double seconds);
  // Continues reading if there is space again.
  void start_read();
  // Bytes read and not consumed; the caller erases what it consumes.
  std::string& unread() noexcept { return unread_; }
  // False: the client has gone, or it accepted nothing for idle_seconds.
  boost::asio::awaitable<bool> write(std::string_view bytes, double idle_seconds);
  // Finds out by an interim reply whether a silent client is still connected. Once for each allow_probe().
  boost::asio::awaitable<void> probe(double idle_seconds);
  void allow_probe() noexcept { probed_ = false; }
  // Ends the sending direction, and discards for a moment what the client still sends: closing with unread bytes would
  // reset the connection, and the client might not receive the end of the reply.
  boost::asio::awaitable<void> linger();
  void close();

  // Waits until bytes arrive, notify() is called, the client leaves, or the deadline passes.
  boost::asio::awaitable<void> event();
  void notify();
  Wake make_wake();
  void set_deadline(double seconds);  // 0: no deadline
  // True: the deadline has just passed. If a write is in progress, the client counts as gone; else event() returns.
  bool expire(TimePoint now);

  bool timed_out() const noexcept { return timed_out_; }  // since set_deadline()
  bool gone() const noexcept { return gone_; }
  bool silent() const noexcept { return silent_; }  // it sends nothing more, but may still read
  std::uint64_t bytes_in() const noexcept { return bytes_in_; }
  std::uint64_t bytes_out() const noexcept { return bytes_out_; }

 private:
  void read_failed(const boost::system::error_code& error);
  auto& socket() noexcept { return stream_.lowest_layer(); }

  Stream stream_;
  const std::shared_ptr<IoLoop> loop_;
  boost::asio::steady_timer signal_;  // never expires; cancelled to say that something has happened
  bool pending_ = false, timed_out_ = false, gone_ = false, silent_ = false, reading_ = false, writing_ = false;
  bool probed_ = false;
  TimePoint deadline_ = TimePoint::max();
  std::unique_ptr<char[]> piece_;  // being read
  std::string unread_;
  std::uint64_t bytes_in_ = 0, bytes_out_ = 0;
};

extern template class Wire<TcpStream>;
extern template class Wire<UnixStream>;
extern template class Wire<TlsStream>;

}  // namespace millrace::http

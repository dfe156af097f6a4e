#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <functional>
#include <memory>
#include <string>

#include "http/io_loop.h"
#include "http/message.h"
#include "http/server.h"

namespace millrace::http {

using TcpStream = boost::asio::ip::tcp::socket;
using UnixStream = boost::asio::local::stream_protocol::socket;
using TlsStream = boost::asio::ssl::stream<TcpStream>;

// What a connection needs of its server; outlives it.
struct Surroundings {
  Application& application;
  const Limits& limits;
  std::shared_ptr<IoLoop> loop;
  std::string peer;
  std::shared_ptr<void> counted;  // gives the place among the connections back
};

// One client: its requests one after the other. Everything happens on the loop's thread, in one coroutine; reading goes
// on beside it, so that a client who leaves is noticed while nothing is being said.
template <typename Stream>
class Connection final : public Timed, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(Stream stream, Surroundings surroundings);
  ~Connection() override;
  void start();
  void tick(std::chrono::steady_clock::time_point now) override;
  void retire() override;
  void abort() override;

 private:
  using TimePoint = std::chrono::steady_clock::time_point;
  using Task = boost::asio::awaitable<void>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  // The rest of the connection is nothing worth: after this error, none if status is 0.
  struct Ended {
    int status = 0;
    std::string_view what;
  };

  boost::asio::awaitable<void> run();
  boost::asio::awaitable<void> handshake();
  boost::asio::awaitable<bool> serve_one();
  std::string take_head(std::size_t seen);
  boost::asio::awaitable<std::string> read_head();
  boost::asio::awaitable<void> read_body(Parser& parser);
  boost::asio::awaitable<bool> answer(Request request);
  boost::asio::awaitable<void> send(Reply reply, bool head_only);
  boost::asio::awaitable<void> send_stream(StreamBody& body);
  boost::asio::awaitable<void> send_error(int status, std::string_view what);
  boost::asio::awaitable<void> write(std::string_view bytes);
  boost::asio::awaitable<void> linger();
  boost::asio::awaitable<void> event();
  boost::asio::awaitable<void> probe();
  void start_read();
  void read_failed(const boost::system::error_code& error);
  void await_ping();
  void notify();
  void close();
  Wake make_wake();
  void set_deadline(double seconds);
  auto& socket() noexcept { return stream_.lowest_layer(); }

  Stream stream_;
  Surroundings s_;
  boost::asio::steady_timer signal_;  // never expires; cancelled to say that something has happened
  bool pending_ = false, timed_out_ = false, gone_ = false, retiring_ = false, reading_ = false, writing_ = false;
  bool idle_ = true;     // between two requests
  bool silent_ = false;  // the client sends nothing more, and may still read
  bool probed_ = false;  // it was tried whether a silent client is still there
  TimePoint deadline_ = TimePoint::max(), ping_at_ = TimePoint::max();
  std::unique_ptr<char[]> piece_;  // being read
  std::string in_;                 // read and not yet parsed
  bool http10_ = false, keep_alive_ = true;
  TimePoint received_{};  // the head of the request being served
  Exchange exchange_;
};

extern template class Connection<TcpStream>;
extern template class Connection<UnixStream>;
extern template class Connection<TlsStream>;

}  // namespace millrace::http

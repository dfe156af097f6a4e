#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "http/io_loop.h"
#include "http/limits.h"
#include "http/message.h"
#include "http/wire.h"

namespace millrace::http {

// What a connection uses of its server, which must outlive it.
struct FollowContext {
  Application& application;
  const Limits& limits;
  std::shared_ptr<IoLoop> loop;
  std::string peer;
  std::shared_ptr<void> counted;  // frees the place among the server's connections when destroyed
};

// The connection of one client: handles its requests one after the other. Runs as one coroutine on the loop's thread.
template <typename Stream>
class Connection final : public Timed, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  Connection(Stream stream, FollowContext follow_context);
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
  boost::asio::awaitable<bool> serve_one();
  std::string take_head(std::size_t seen);
  boost::asio::awaitable<std::string> read_head();
  void begin_exchange();
  boost::asio::awaitable<void> read_body(Parser& parser);
  boost::asio::awaitable<bool> answer(Request request);
  boost::asio::awaitable<void> send(Reply reply, bool head_only);
  boost::asio::awaitable<void> send_stream(StreamBody& body);
  boost::asio::awaitable<void> send_error(int status, std::string_view what);
  boost::asio::awaitable<void> write(std::string_view bytes);
  void await_ping();
  void finish_exchange();
  std::string& in() noexcept { return wire_->unread(); }  // not yet parsed

  FollowContext s_;
  const std::shared_ptr<Wire<Stream>> wire_;
  bool idle_ = true;  // between two requests
  bool retiring_ = false;
  TimePoint ping_at_ = TimePoint::max(), due_ = TimePoint::max();
  bool http10_ = false, keep_alive_ = true;
  TimePoint received_{};  // the head of the request being served
  Exchange exchange_;
  std::uint64_t in_before_ = 0, out_before_ = 0;  // bytes of the wire that are not this exchange's
};

extern template class Connection<TcpStream>;
extern template class Connection<UnixStream>;
extern template class Connection<TlsStream>;

}  // namespace millrace::http

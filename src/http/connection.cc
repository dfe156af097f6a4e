#include "http/connection.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/beast/http/error.hpp>
#include <cctype>

#include "base/log.h"
#include "http/reply_head.h"
#include "http/request_head.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast::http;
using boost::system::error_code;

constexpr double kShortestBodySeconds = 10.0;  // before a body's rate is judged

Request request_of(beast::request_parser<beast::string_body>::value_type& message) {
  Request request;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const std::size_t mark = target.find('?');
  request.path = target.substr(0, mark);
  if (mark != std::string_view::npos) request.query = target.substr(mark + 1);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers.add(std::move(name), std::string(field.value()));
  }
  return request;
}

}  // namespace

template <typename Stream>
Connection<Stream>::Connection(Stream stream, FollowContext follow_context)
    : s_(std::move(follow_context)), wire_(std::make_shared<Wire<Stream>>(std::move(stream), s_.loop)) {
  s_.loop->add(*this);
}

template <typename Stream>
Connection<Stream>::~Connection() {
  s_.loop->remove(*this);
}

template <typename Stream>
void Connection<Stream>::start() {
  asio::co_spawn(s_.loop->io(), [self = this->shared_from_this()]() -> Task { co_await self->run(); }, asio::detached);
}

template <typename Stream>
void Connection<Stream>::tick(TimePoint now) {
  if (!wire_->expire(now) && now >= std::min(ping_at_, due_)) wire_->notify();
}

template <typename Stream>
void Connection<Stream>::retire() {
  retiring_ = true;
  if (idle_) wire_->close();
}

template <typename Stream>
void Connection<Stream>::abort() {
  wire_->close();
}

template <typename Stream>
void Connection<Stream>::await_ping() {
  const auto quiet = std::chrono::milliseconds(std::int64_t(s_.limits.stream_keep_alive_seconds * 1e3));
  ping_at_ = std::chrono::steady_clock::now() + quiet;
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::run() {
  Ended ended;
  try {
    co_await wire_->handshake(s_.limits.header_seconds);
    wire_->start_read();
    for (int served = 1; co_await serve_one(); ++served) {
      if (served >= s_.limits.requests_per_connection) break;
    }
  } catch (const Ended& end) {
    ended = end;
  } catch (const std::exception& failure) {
    log::error("{}: {}", s_.peer, failure.what());
    ended = {500, "internal error"};
  }
  if (ended.status != 0 && !wire_->gone()) {
    try {
      co_await send_error(ended.status, ended.what);
    } catch (...) {
      wire_->close();  // nothing more can be sent
    }
  }
  if (!wire_->gone()) co_await wire_->linger();
  wire_->close();
}

// The head with its empty line is taken from what was read, if all of it is there; bytes before `seen` hold no end.
template <typename Stream>
std::string Connection<Stream>::take_head(std::size_t seen) {
  std::size_t length = 0;
  for (std::size_t at = seen; length == 0 && (at = in().find('\n', at)) != std::string::npos; ++at) {
    const std::string_view rest = std::string_view(in()).substr(at + 1);
    if (rest.starts_with("\r\n")) length = at + 3;
    if (rest.starts_with('\n')) length = at + 2;  // refused, but soon
  }
  if (std::max(length, in().size() * (length == 0)) > s_.limits.header_bytes) throw Ended{431, "the head is too long"};
  std::string head = in().substr(0, length);
  in().erase(0, length);
  return head;
}

template <typename Stream>
asio::awaitable<std::string> Connection<Stream>::read_head() {
  wire_->set_deadline(s_.limits.keep_alive_seconds);
  std::size_t seen = 0;
  std::string head;
  while (head.empty()) {
    if (idle_ && !in().empty()) begin_exchange();
    head = take_head(seen);
    if (!head.empty()) break;
    seen = in().size() > 2 ? in().size() - 2 : 0;
    if (wire_->gone() || wire_->silent() || (idle_ && (retiring_ || wire_->timed_out()))) throw Ended{};
    if (wire_->timed_out()) throw Ended{408, "the head did not come in time"};
    co_await wire_->event();
  }
  wire_->start_read();
  co_return head;
}

// With the first byte of a request.
template <typename Stream>
void Connection<Stream>::begin_exchange() {
  idle_ = false;
  exchange_ = {};
  exchange_.peer = s_.peer;
  in_before_ = wire_->bytes_in() - in().size();
  out_before_ = wire_->bytes_out();
  received_ = std::chrono::steady_clock::now();
  wire_->set_deadline(s_.limits.header_seconds);
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::read_body(Parser& parser) {
  const TimePoint start = std::chrono::steady_clock::now();
  const std::uint64_t before = wire_->bytes_in();
  wire_->set_deadline(s_.limits.body_idle_seconds);
  for (;;) {
    error_code error;
    const std::size_t used = in().empty() ? 0 : parser.put(asio::buffer(in()), error);
    in().erase(0, used);
    if (error == beast::error::body_limit) throw Ended{413, "the body is too large"};
    if (error && error != beast::error::need_more) throw Ended{400, "the body is malformed"};
    if (parser.is_done()) break;
    if (used == 0 && in().size() >= Wire<Stream>::kReadAhead) throw Ended{400, "the body is malformed"};
    wire_->start_read();
    if (used > 0 && !in().empty() && !error) continue;
    if (wire_->gone() || wire_->silent()) throw Ended{};
    if (wire_->timed_out()) throw Ended{408, "the body did not come in time"};
    co_await wire_->event();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto bytes = static_cast<double>(wire_->bytes_in() - before);
    if (seconds > kShortestBodySeconds && bytes < s_.limits.body_bytes_per_second * seconds) {
      throw Ended{408, "the body comes too slowly"};
    }
    if (!wire_->timed_out()) wire_->set_deadline(s_.limits.body_idle_seconds);
  }
  wire_->set_deadline(0.0);
}

// True: the connection may be used again.
template <typename Stream>
asio::awaitable<bool> Connection<Stream>::serve_one() {
  idle_ = true;
  keep_alive_ = false;
  http10_ = false;
  const std::string head = co_await read_head();
  received_ = std::chrono::steady_clock::now();
  if (const HeadProblem problem = check_head(head, s_.limits); problem.status != 0) {
    throw Ended{problem.status, problem.what};
  }
  Parser parser;
  parser.header_limit(static_cast<std::uint32_t>(s_.limits.header_bytes) + 1);
  parser.body_limit(s_.limits.body_bytes);
  parser.eager(true);
  error_code error;
  parser.put(asio::buffer(head), error);
  if (error == beast::error::body_limit) throw Ended{413, "the body is too large"};
  if ((error && error != beast::error::need_more) || !parser.is_header_done())
    throw Ended{400, "the head is malformed"};
  http10_ = parser.get().version() == 10;
  Request request = request_of(parser.get());
  request.peer = s_.peer;
  request.received = received_;
  exchange_.method = request.method;
  exchange_.path = request.path;
  if (request.headers.has("content-encoding")) throw Ended{415, "content-encoding is not supported"};
  if (auto rejection = s_.application.reject(request)) {  // before the body is read
    keep_alive_ = parser.is_done() && parser.keep_alive();
    co_await send(std::move(*rejection), request.method == "HEAD");
    co_return keep_alive_;
  }
  if (request.headers.has("expect") && !parser.is_done()) {
    if (request.headers.get("expect") != "100-continue") throw Ended{417, "expect must be 100-continue"};
    if (in().empty()) co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (!parser.is_done()) co_await read_body(parser);
  keep_alive_ = parser.keep_alive() && !retiring_;
  request.body = std::move(parser.get().body());
  co_return co_await answer(std::move(request));
}

template <typename Stream>
asio::awaitable<bool> Connection<Stream>::answer(Request request) {
  const bool head_only = request.method == "HEAD";
  wire_->set_deadline(0.0);
  auto responder = s_.application.handle(std::move(request), wire_->make_wake());
  std::optional<Reply> reply;
  await_ping();
  while (!(reply = responder->poll())) {
    if (std::chrono::steady_clock::now() >= ping_at_) {
      reply = responder->promise();
      if (reply) break;
      await_ping();
      wire_->allow_probe();
    }
    if (!http10_) co_await wire_->probe(s_.limits.write_idle_seconds);
    due_ = responder->due();
    if (!wire_->gone()) co_await wire_->event();
    if (!wire_->gone()) continue;
    responder.reset();
    exchange_.status = 499;
    finish_exchange();
    throw Ended{};
  }
  ping_at_ = due_ = TimePoint::max();
  responder.reset();
  co_await send(*std::move(reply), head_only);
  co_return keep_alive_ && !retiring_ && !wire_->gone();
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::send(Reply reply, bool head_only) {
  exchange_.status = reply.status;
  exchange_.rejection = std::move(reply.rejection);
  exchange_.request_id = reply.headers.get("x-request-id");
  if (reply.stream && http10_) keep_alive_ = false;
  const bool stays = keep_alive_ && !retiring_ && !(reply.stream && http10_);
  std::string head = reply_head(reply, http10_, stays);
  if (!reply.stream && !head_only) head += reply.body;
  reply.body.clear();
  try {
    co_await write(head);
    if (reply.stream && !head_only) co_await send_stream(*reply.stream);
  } catch (const Ended&) {
    exchange_.status = 499;
    reply.stream.reset();
    finish_exchange();
    throw;
  }
  reply.stream.reset();
  exchange_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - received_).count();
  finish_exchange();
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::send_stream(StreamBody& body) {
  std::string out, framed;
  bool more = true;
  await_ping();
  while (more || !out.empty()) {
    out.clear();
    more = body.take(out);
    if (out.empty() && more) {
      if (wire_->gone()) break;
      if (std::chrono::steady_clock::now() >= ping_at_) {
        out = body.keep_alive();
        await_ping();
      }
      if (out.empty()) {
        co_await wire_->event();
        continue;
      }
    }
    framed.clear();
    if (http10_) {
      framed = out;
    } else {
      if (!out.empty()) fmt::format_to(std::back_inserter(framed), "{:x}\r\n{}\r\n", out.size(), out);
      if (!more) framed += "0\r\n\r\n";
    }
    co_await write(framed);
    await_ping();
    if (!more) break;
  }
  ping_at_ = TimePoint::max();
  if (wire_->gone()) throw Ended{};
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::send_error(int status, std::string_view what) {
  keep_alive_ = false;
  Reply reply = s_.application.error(status, what);
  co_await send(std::move(reply), false);
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::write(std::string_view bytes) {
  // A variable of its own: g++ 12 makes a trap of a co_await in a condition that leads to a throw.
  const bool written = co_await wire_->write(bytes, s_.limits.write_idle_seconds);
  if (!written) throw Ended{};
}

template <typename Stream>
void Connection<Stream>::finish_exchange() {
  exchange_.bytes_in = wire_->bytes_in() - in_before_;
  exchange_.bytes_out = wire_->bytes_out() - out_before_;
  s_.application.finished(exchange_);
}

template class Connection<TcpStream>;
template class Connection<UnixStream>;
template class Connection<TlsStream>;

}  // namespace millrace::http

#include "http/connection.h"

#include <fmt/core.h>
#include <poll.h>

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
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

constexpr std::size_t kPiece = 8 << 10;       // bytes of one read
constexpr std::size_t kReadAhead = 32 << 10;  // unparsed bytes that are held
constexpr double kLingerSeconds = 2.0;
constexpr double kShortestBodySeconds = 10.0;  // before a body's rate is judged

template <typename Stream>
constexpr bool kIsTls = std::is_same_v<Stream, TlsStream>;

auto resume(error_code& error) { return asio::redirect_error(asio::use_awaitable, error); }

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
Connection<Stream>::Connection(Stream stream, Surroundings surroundings)
    : stream_(std::move(stream)),
      s_(std::move(surroundings)),
      signal_(s_.loop->io(), TimePoint::max()),
      piece_(new char[kPiece]) {
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
  if (now >= deadline_) {
    deadline_ = TimePoint::max();
    timed_out_ = true;
    writing_ ? close() : notify();
  } else if (now >= ping_at_) {
    notify();
  }
}

template <typename Stream>
void Connection<Stream>::retire() {
  retiring_ = true;
  if (idle_) close();
}

template <typename Stream>
void Connection<Stream>::abort() {
  close();
}

template <typename Stream>
void Connection<Stream>::close() {
  error_code ignored;
  gone_ = true;
  socket().close(ignored);
  notify();
}

template <typename Stream>
void Connection<Stream>::notify() {
  pending_ = true;
  signal_.cancel();
}

// Waits until bytes have come, somebody woke us, the client left or time is up.
template <typename Stream>
asio::awaitable<void> Connection<Stream>::event() {
  error_code ignored;
  if (!pending_) co_await signal_.async_wait(resume(ignored));
  pending_ = false;
}

template <typename Stream>
void Connection<Stream>::set_deadline(double seconds) {
  timed_out_ = false;
  deadline_ = seconds > 0.0 ? std::chrono::steady_clock::now() + std::chrono::milliseconds(std::int64_t(seconds * 1e3))
                            : TimePoint::max();
}

template <typename Stream>
void Connection<Stream>::await_ping() {
  const auto quiet = std::chrono::milliseconds(std::int64_t(s_.limits.stream_keep_alive_seconds * 1e3));
  ping_at_ = std::chrono::steady_clock::now() + quiet;
}

// The wake outlives connection and server: it holds the loop, and finds the connection only on the loop's thread.
template <typename Stream>
Wake Connection<Stream>::make_wake() {
  return [loop = s_.loop, weak = this->weak_from_this(), posted = std::make_shared<std::atomic<bool>>(false)] {
    if (posted->exchange(true)) return;
    asio::post(loop->io(), [weak, posted] {
      *posted = false;
      if (const auto self = weak.lock()) self->notify();
    });
  };
}

template <typename Stream>
void Connection<Stream>::start_read() {
  if (reading_ || gone_ || silent_ || in_.size() >= kReadAhead) return;
  reading_ = true;
  stream_.async_read_some(asio::buffer(piece_.get(), kPiece),
                          [self = this->shared_from_this()](const error_code& error, std::size_t n) {
                            self->reading_ = false;
                            self->in_.append(self->piece_.get(), n);
                            self->exchange_.bytes_in += n;
                            if (error) self->read_failed(error);
                            self->start_read();
                            self->notify();
                          });
}

// A client may close its sending side and go on reading (RFC 9112 §9.6). Over TLS that looks like a cut connection, and
// is taken for one.
template <typename Stream>
void Connection<Stream>::read_failed(const error_code& error) {
  if (kIsTls<Stream> || error != asio::error::eof) {
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

// Whoever has closed its whole socket looks the same as who has closed half of it, until something is sent: an interim
// reply, which every client of HTTP/1.1 passes over (RFC 9110 §15.2), is answered with a reset. Once in each interval.
template <typename Stream>
asio::awaitable<void> Connection<Stream>::probe() {
  if (!silent_ || probed_ || http10_ || gone_) co_return;
  probed_ = true;
  try {
    co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  } catch (const Ended&) {  // gone_ is set
  }
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::run() {
  Ended ended;
  try {
    if constexpr (kIsTls<Stream>) co_await handshake();
    start_read();
    for (int served = 1; co_await serve_one(); ++served) {
      if (served >= s_.limits.requests_per_connection) break;
    }
  } catch (const Ended& end) {
    ended = end;
  } catch (const std::exception& failure) {
    log::error("{}: {}", s_.peer, failure.what());
    ended = {500, "internal error"};
  }
  if (ended.status != 0 && !gone_) {
    try {
      co_await send_error(ended.status, ended.what);
    } catch (...) {  // it is closed all the same
    }
  }
  if (!gone_) co_await linger();
  close();
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::handshake() {
  if constexpr (kIsTls<Stream>) {
    set_deadline(s_.limits.header_seconds);
    writing_ = true;  // nothing can be said to who takes too long
    error_code error;
    co_await stream_.async_handshake(asio::ssl::stream_base::server, resume(error));
    writing_ = false;
    set_deadline(0.0);
    if (error) {
      gone_ = true;
      throw Ended{};
    }
  }
  co_return;
}

// The head with its empty line is taken from what was read, if all of it is there; bytes before `seen` hold no end.
template <typename Stream>
std::string Connection<Stream>::take_head(std::size_t seen) {
  std::size_t length = 0;
  for (std::size_t at = seen; length == 0 && (at = in_.find('\n', at)) != std::string::npos; ++at) {
    const std::string_view rest = std::string_view(in_).substr(at + 1);
    if (rest.starts_with("\r\n")) length = at + 3;
    if (rest.starts_with('\n')) length = at + 2;  // refused, but soon
  }
  if (std::max(length, in_.size() * (length == 0)) > s_.limits.header_bytes) throw Ended{431, "the head is too long"};
  std::string head = in_.substr(0, length);
  in_.erase(0, length);
  return head;
}

template <typename Stream>
asio::awaitable<std::string> Connection<Stream>::read_head() {
  set_deadline(s_.limits.keep_alive_seconds);
  std::size_t seen = 0;
  std::string head;
  while (head.empty()) {
    if (idle_ && !in_.empty()) {
      idle_ = false;
      exchange_ = {};
      exchange_.peer = s_.peer;
      exchange_.bytes_in = in_.size();
      received_ = std::chrono::steady_clock::now();
      set_deadline(s_.limits.header_seconds);
    }
    head = take_head(seen);
    if (!head.empty()) break;
    seen = in_.size() > 2 ? in_.size() - 2 : 0;
    if (gone_ || silent_ || (idle_ && (retiring_ || timed_out_))) throw Ended{};
    if (timed_out_) throw Ended{408, "the head did not come in time"};
    co_await event();
  }
  start_read();
  co_return head;
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::read_body(Parser& parser) {
  const TimePoint start = std::chrono::steady_clock::now();
  const std::uint64_t before = exchange_.bytes_in;
  set_deadline(s_.limits.body_idle_seconds);
  for (;;) {
    error_code error;
    const std::size_t used = in_.empty() ? 0 : parser.put(asio::buffer(in_), error);
    in_.erase(0, used);
    if (error == beast::error::body_limit) throw Ended{413, "the body is too large"};
    if (error && error != beast::error::need_more) throw Ended{400, "the body is malformed"};
    if (parser.is_done()) break;
    if (used == 0 && in_.size() >= kReadAhead) throw Ended{400, "the body is malformed"};
    start_read();
    if (used > 0 && !in_.empty() && !error) continue;
    if (gone_ || silent_) throw Ended{};
    if (timed_out_) throw Ended{408, "the body did not come in time"};
    co_await event();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto bytes = static_cast<double>(exchange_.bytes_in - before);
    if (seconds > kShortestBodySeconds && bytes < s_.limits.body_bytes_per_second * seconds) {
      throw Ended{408, "the body comes too slowly"};
    }
    if (!timed_out_) set_deadline(s_.limits.body_idle_seconds);
  }
  set_deadline(0.0);
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
  if (auto refusal = s_.application.refuse(request)) {  // before the body is read
    keep_alive_ = parser.is_done() && parser.keep_alive();
    co_await send(std::move(*refusal), request.method == "HEAD");
    co_return keep_alive_;
  }
  if (request.headers.has("expect") && !parser.is_done()) {
    if (request.headers.get("expect") != "100-continue") throw Ended{417, "expect must be 100-continue"};
    if (in_.empty()) co_await write("HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (!parser.is_done()) co_await read_body(parser);
  keep_alive_ = parser.keep_alive() && !retiring_;
  request.body = std::move(parser.get().body());
  co_return co_await answer(std::move(request));
}

template <typename Stream>
asio::awaitable<bool> Connection<Stream>::answer(Request request) {
  const bool head_only = request.method == "HEAD";
  set_deadline(0.0);
  auto responder = s_.application.handle(std::move(request), make_wake());
  std::optional<Reply> reply;
  await_ping();
  while (!(reply = responder->poll())) {
    if (std::chrono::steady_clock::now() >= ping_at_) {
      if ((reply = responder->promise())) break;
      await_ping();
      probed_ = false;
    }
    co_await probe();
    if (!gone_) co_await event();
    if (!gone_) continue;
    responder.reset();
    exchange_.status = 499;
    s_.application.finished(exchange_);
    throw Ended{};
  }
  ping_at_ = TimePoint::max();
  responder.reset();
  co_await send(*std::move(reply), head_only);
  co_return keep_alive_ && !retiring_ && !gone_;
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::send(Reply reply, bool head_only) {
  exchange_.status = reply.status;
  exchange_.refusal = std::move(reply.refusal);
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
    s_.application.finished(exchange_);
    throw;
  }
  reply.stream.reset();
  exchange_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - received_).count();
  s_.application.finished(exchange_);
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
      if (gone_) break;
      if (std::chrono::steady_clock::now() >= ping_at_) {
        out = body.keep_alive();
        await_ping();
      }
      if (out.empty()) {
        co_await event();
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
  if (gone_) throw Ended{};
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::send_error(int status, std::string_view what) {
  keep_alive_ = false;
  Reply reply = s_.application.error(status, what);
  co_await send(std::move(reply), false);
}

template <typename Stream>
asio::awaitable<void> Connection<Stream>::write(std::string_view bytes) {
  if (gone_) throw Ended{};
  error_code error;
  set_deadline(s_.limits.write_idle_seconds);
  writing_ = true;
  co_await asio::async_write(stream_, asio::buffer(bytes), resume(error));
  writing_ = false;
  set_deadline(0.0);
  exchange_.bytes_out += bytes.size();
  if (error) {
    gone_ = true;
    throw Ended{};
  }
}

// What the client still sends is read and thrown away for a moment: closing with unread bytes would reset the
// connection, and the client might never see our last words.
template <typename Stream>
asio::awaitable<void> Connection<Stream>::linger() {
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
      in_.clear();
      start_read();
      co_await event();
    }
  }
}

template class Connection<TcpStream>;
template class Connection<UnixStream>;
template class Connection<TlsStream>;

}  // namespace millrace::http

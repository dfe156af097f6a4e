#include "loadtest/client/load_client.h"

#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

#include "base/result.h"

namespace millrace::loadtest {
namespace {

constexpr std::size_t kRead = 64 << 10;
constexpr int kBatch = 64;                 // events of one wait: what is due is sent in between
constexpr int kReads = 4;                  // of one connection before the others have their turn
constexpr std::chrono::seconds kFresh{4};  // servers close idle connections after 5 s or more (uvicorn: 5)
constexpr std::chrono::milliseconds kRetry{1};

void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string headers_of(const Target& target) {
  const bool ipv6 = target.host.find(':') != std::string::npos;
  std::string host = ipv6 ? "[" + target.host + "]" : target.host;
  if (target.unix_socket.empty() && target.port != (target.tls ? 443 : 80)) host += ":" + std::to_string(target.port);
  std::string out = fmt::format("host: {}\r\ncontent-type: application/json\r\naccept: text/event-stream\r\n", host);
  for (const auto& [name, value] : target.headers) out += fmt::format("{}: {}\r\n", name, value);
  return out;
}

}  // namespace

struct LoadClient::Connection {
  Connection(int fd, const TlsContext* tls) : stream(fd, tls) {}
  ByteStream stream;
  enum class State { kWaiting, kConnecting, kOpen } state = State::kOpen;
  std::string out;  // of the request, from `written` on still to be sent
  std::size_t written = 0;
  // The whole request, where the connection served another before and no byte of the reply has come.
  std::string again;
  bool deaf = false;  // the server takes no more of the request; it may have said why
  std::uint32_t watched = 0;
  std::optional<StreamedAnswer> answer;
  std::uint64_t number = 0;  // of the request
  std::size_t place = 0;     // in connections_
  TimePoint idle_since{};
};

struct LoadClient::Batch {
  std::array<epoll_event, kBatch> events;
};

LoadClient::LoadClient(const Target& target)
    : target_(target),
      zero_(Clock::now()),
      address_(reachable_address(target)),
      tls_(target.tls ? std::make_unique<TlsContext>(target) : nullptr),
      fixed_headers_(headers_of(target)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      batch_(std::make_unique<Batch>()),
      buffer_(kRead) {
  raise_descriptor_limit();
}

LoadClient::~LoadClient() {
  connections_.clear();
  ::close(epoll_);
}

TimePoint LoadClient::at(double seconds) const noexcept {
  constexpr double kYear = 366.0 * 86400.0;  // what a clock of nanoseconds holds
  return zero_ + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, kYear)));
}

LoadClient::Connection* LoadClient::idle_connection(TimePoint now) {
  while (!idle_.empty()) {
    Connection& c = *idle_.back();
    if (now - c.idle_since < kFresh && !c.stream.stale()) {
      idle_.pop_back();
      return &c;
    }
    close(c);
  }
  return nullptr;
}

LoadClient::Connection* LoadClient::new_connection(std::string& problem) {
  const auto [fd, error] = begin_connect(address_);
  if (fd < 0) {
    problem = std::strerror(error);
    return nullptr;
  }
  auto made = std::make_unique<Connection>(fd, tls_.get());
  if (error != 0 && error != EINPROGRESS && error != EAGAIN) {
    problem = std::strerror(error);
    return nullptr;
  }
  made->place = connections_.size();
  Connection& c = *connections_.emplace_back(std::move(made));
  begin(c, error);
  return &c;
}

void LoadClient::begin(Connection& c, int error) {
  if (error == EAGAIN) {
    c.state = Connection::State::kWaiting;
    waiting_.push_back(&c);
    return;
  }
  c.state = error == 0 ? Connection::State::kOpen : Connection::State::kConnecting;
  c.watched = 0;
  epoll_event event{.events = 0, .data = {.ptr = &c}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, c.stream.fd(), &event);
  watch(c);
}

void LoadClient::watch(Connection& c) {
  if (c.state == Connection::State::kWaiting) return;
  const bool writes = c.state == Connection::State::kConnecting || c.stream.wants_write();
  const std::uint32_t wanted = EPOLLIN | (writes ? EPOLLOUT : 0u);
  if (wanted == c.watched) return;
  c.watched = wanted;
  epoll_event event{.events = wanted, .data = {.ptr = &c}};
  ::epoll_ctl(epoll_, EPOLL_CTL_MOD, c.stream.fd(), &event);
}

void LoadClient::send(Outgoing request) {
  const TimePoint now = Clock::now();
  request.record.sent = seconds(now);
  std::string problem;
  Connection* c = idle_connection(now);
  const bool kept = c != nullptr;
  if (c == nullptr) c = new_connection(problem);
  if (c == nullptr) {
    StreamedAnswer never(std::move(request.record), false, 0);
    never.give_up(Outcome::kCut, seconds(now), problem);
    ended_.push_back(std::move(never.record()));
    return;
  }
  c->out = fmt::format("POST {}{} HTTP/1.1\r\n{}content-length: {}\r\n\r\n", target_.base_path, request.path,
                       fixed_headers_, request.body.size());
  c->out += request.body;
  c->written = 0;
  c->again = kept ? c->out : std::string();
  c->number = sent_++;
  c->answer.emplace(std::move(request.record), request.keep_text, request.leave_after);
  active_.emplace(c->number, c);
  if (request.timeout_s > 0.0) {
    // In the order of sending as long as all have the same allowance; a shorter one behind a longer one is noticed
    // late.
    deadlines_.emplace_back(at(seconds(now) + request.timeout_s), c->number);
  }
  if (c->state == Connection::State::kOpen) flush(*c);
  watch(*c);
}

void LoadClient::flush(Connection& c) {
  while (c.written < c.out.size()) {
    const auto moved = c.stream.write(std::string_view(c.out).substr(c.written));
    if (moved.kind == ByteStream::Moved::Kind::kWait) return;
    if (moved.kind == ByteStream::Moved::Kind::kEnd) {
      c.deaf = true;
      break;
    }
    c.written += moved.bytes;
  }
  c.out = {};
  c.written = 0;
}

void LoadClient::ready(Connection& c, std::uint32_t what) {
  if (c.state == Connection::State::kConnecting && !finish_connect(c)) return;
  if (!c.out.empty()) flush(c);
  // What is only writable has nothing to read; under TLS either may stand for the other.
  if ((what & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0 || tls_ != nullptr || c.deaf) return read(c);
  watch(c);  // a socket that stays writable would wake us for ever
}

bool LoadClient::finish_connect(Connection& c) {
  int error = 0;
  socklen_t size = sizeof error;
  if (::getsockopt(c.stream.fd(), SOL_SOCKET, SO_ERROR, &error, &size) != 0) error = errno;
  if (error == 0) {
    c.state = Connection::State::kOpen;
    return true;
  }
  c.answer->close(seconds(Clock::now()), std::strerror(error), parser_);
  settle(c);
  return false;
}

void LoadClient::read(Connection& c) {
  for (int i = 0; i < kReads; ++i) {
    const auto moved = c.stream.read(buffer_);
    if (moved.kind == ByteStream::Moved::Kind::kWait && !c.deaf) break;
    if (!c.answer) return close(c);  // idle: nothing should come but its end
    if (moved.kind != ByteStream::Moved::Kind::kBytes && !c.again.empty()) return send_again(c);
    c.again.clear();
    const double now = seconds(Clock::now());
    const std::int64_t before = c.answer->events();
    if (moved.kind == ByteStream::Moved::Kind::kBytes) {
      c.answer->read({buffer_.data(), moved.bytes}, now, parser_);
    } else {
      c.answer->close(now, c.stream.problem(), parser_);
    }
    const std::int64_t fresh = c.answer->events() - before;
    if (before == 0 && fresh > 0) ++streaming_;
    events_ += fresh;
    if (c.answer->over()) return settle(c);
    if (moved.bytes < buffer_.size() && tls_ == nullptr) break;
  }
  watch(c);
}

// A server may close a connection it had kept at any moment, also while the next request is on its way: that one it
// never saw, and it goes out once more on a new connection (RFC 9112, 9.3.1). Not a retry: nothing of a reply had come.
void LoadClient::send_again(Connection& old) {
  std::string problem;
  Connection* const c = new_connection(problem);
  if (c == nullptr) {
    old.again.clear();
    old.answer->close(seconds(Clock::now()), problem, parser_);
    return settle(old);
  }
  c->out = std::exchange(old.again, {});
  c->number = old.number;
  c->answer.emplace(std::move(*old.answer));
  old.answer.reset();
  active_[c->number] = c;
  close(old);
  if (c->state == Connection::State::kOpen) flush(*c);
  watch(*c);
}

// After the end of an answer: its connection is kept or closed.
void LoadClient::settle(Connection& c) {
  const bool keep = c.answer->keeps_alive() && c.out.empty() && !c.deaf;
  end_request(c);
  if (!keep) return close(c);
  c.idle_since = Clock::now();
  idle_.push_back(&c);
  watch(c);
}

void LoadClient::end_request(Connection& c) {
  if (c.answer->events() > 0) --streaming_;
  ended_.push_back(std::move(c.answer->record()));
  c.answer.reset();
  active_.erase(c.number);
}

void LoadClient::close(Connection& c) {
  std::erase(idle_, &c);
  std::erase(waiting_, &c);
  if (c.state != Connection::State::kWaiting) ::epoll_ctl(epoll_, EPOLL_CTL_DEL, c.stream.fd(), nullptr);
  const std::size_t place = c.place;
  closed_.push_back(std::move(connections_[place]));
  if (place + 1 < connections_.size()) {
    connections_[place] = std::move(connections_.back());
    connections_[place]->place = place;
  }
  connections_.pop_back();
  c.state = Connection::State::kWaiting;  // what the batch still says of it is passed over
}

void LoadClient::connect_waiting() {
  for (Connection* const c : std::exchange(waiting_, {})) {
    const int error = connect_again(c->stream.fd(), address_);
    if (error != 0 && error != EINPROGRESS && error != EAGAIN) {
      c->answer->close(seconds(Clock::now()), std::strerror(error), parser_);
      settle(*c);
      continue;
    }
    begin(*c, error);
    if (c->state == Connection::State::kOpen) flush(*c);
    watch(*c);
  }
}

void LoadClient::expire(TimePoint now) {
  for (; !deadlines_.empty() && deadlines_.front().first <= now; deadlines_.pop_front()) {
    const auto it = active_.find(deadlines_.front().second);
    if (it == active_.end()) continue;
    it->second->answer->give_up(Outcome::kTimeout, seconds(now), "no end in the time allowed");
    settle(*it->second);
  }
}

int LoadClient::wait(TimePoint until) {
  const auto left = std::max(Clock::duration::zero(), until - Clock::now());
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec span{whole.count(), std::chrono::nanoseconds(left - whole).count()};
  const int n = ::epoll_pwait2(epoll_, batch_->events.data(), kBatch, &span, nullptr);
  if (n >= 0 || errno != ENOSYS) return n;
  // Linux before 5.11 counts in milliseconds: down, and the rest by asking again.
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(left).count();
  return ::epoll_wait(epoll_, batch_->events.data(), kBatch,
                      static_cast<int>(std::min<std::int64_t>(milliseconds, 60'000)));
}

void LoadClient::poll(TimePoint until) {
  if (!waiting_.empty()) connect_waiting();
  TimePoint wake = until;
  if (!waiting_.empty()) wake = std::min(wake, Clock::now() + kRetry);
  if (!deadlines_.empty()) wake = std::min(wake, deadlines_.front().first);
  if (!ended_.empty()) wake = TimePoint{};
  const int n = wait(wake);
  for (int i = 0; i < n; ++i) {
    const epoll_event& event = batch_->events[static_cast<std::size_t>(i)];
    Connection& c = *static_cast<Connection*>(event.data.ptr);
    if (c.state != Connection::State::kWaiting) ready(c, event.events);
    if (Clock::now() >= until) break;  // something is to be sent; epoll will name the others again
  }
  closed_.clear();
  expire(Clock::now());
  closed_.clear();
}

void LoadClient::stop() {
  const double now = seconds(Clock::now());
  while (!active_.empty()) {
    Connection& c = *active_.begin()->second;
    c.answer->give_up(Outcome::kStopped, now, "");
    settle(c);
  }
  closed_.clear();
}

}  // namespace millrace::loadtest

#include "stream_client.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/result.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kRead = 64 << 10;
constexpr int kMostEvents = 512;  // of one epoll_wait
constexpr std::string_view kEvent = "data: {";
constexpr std::string_view kEnd = "\r\n0\r\n\r\n";  // of a chunked body; JSON and events hold no carriage return

}  // namespace

StreamClient::StreamClient(std::string host, int port)
    : host_(std::move(host)), port_(port), epoll_(::epoll_create1(EPOLL_CLOEXEC)), buffer_(kRead + kEvent.size()) {}

StreamClient::~StreamClient() {
  for (const auto& [fd, connection] : connections_) ::close(fd);
  ::close(epoll_);
}

StreamClient::Connection& StreamClient::connection() {
  if (!idle_.empty()) {
    Connection& found = *idle_.back();
    idle_.pop_back();
    return found;
  }
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  ::inet_pton(AF_INET, host_.c_str(), &address.sin_addr);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    throw_load_error(ErrorCode::kUnavailable, "connection", "{}:{}: {}", host_, port_, std::strerror(errno));
  }
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::fcntl(fd, F_SETFL, O_NONBLOCK);
  auto made = std::make_unique<Connection>();
  made->fd = fd;
  epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
  ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  return *(connections_[fd] = std::move(made));
}

void StreamClient::send(std::string_view path, std::string_view body, TimePoint due, std::int64_t abandon_after) {
  Connection& c = connection();
  const std::string text =
      fmt::format("POST {} HTTP/1.1\r\nhost: {}:{}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{}",
                  path, host_, port_, body.size(), body);
  c.busy = true;
  c.closes = false;
  c.abandon_after = abandon_after;
  c.tail_bytes = 0;
  c.seen = {.due = due, .sent = Clock::now()};
  ++active_;
  // A request of this size fits into the empty buffer of its socket.
  if (::send(c.fd, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) end(c, false, false);
}

void StreamClient::poll(TimePoint until) {
  const auto left = std::max(Clock::duration::zero(), until - Clock::now());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  const timespec wait{seconds.count(), std::chrono::nanoseconds(left - seconds).count()};
  std::array<epoll_event, kMostEvents> ready;
  const int n = ::epoll_pwait2(epoll_, ready.data(), kMostEvents, &wait, nullptr);
  for (int i = 0; i < n; ++i) {
    const auto it = connections_.find(ready[static_cast<std::size_t>(i)].data.fd);
    if (it != connections_.end()) take(*it->second);
  }
}

void StreamClient::take(Connection& c) {
  char* const fresh = buffer_.data() + kEvent.size();
  const ssize_t n = ::read(c.fd, fresh, kRead);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return end(c, false, false);
  if (!c.busy) return;
  std::memcpy(fresh - c.tail_bytes, c.tail.data(), c.tail_bytes);
  look(c, {fresh - c.tail_bytes, c.tail_bytes + static_cast<std::size_t>(n)}, Clock::now());
}

// What was read, after the tail of what was before: that alone is too short to be an event.
void StreamClient::look(Connection& c, std::string_view bytes, TimePoint now) {
  StreamSeen& seen = c.seen;
  if (seen.status == 0) {
    seen.first_byte = now;
    seen.status = bytes.size() > 12 ? std::atoi(bytes.data() + 9) : -1;
    c.closes = bytes.substr(0, bytes.find("\r\n\r\n")).find("connection: close") != std::string_view::npos;
    if (seen.status != 200) return end(c, false, false);
  }
  std::int64_t found = 0;
  for (std::size_t at = 0; (at = bytes.find(kEvent, at)) != std::string_view::npos; at += kEvent.size()) ++found;
  if (found > 0) {
    if (seen.events == 0) {
      seen.first_event = now;
      ++streaming_;
    }
    seen.last_event = now;
    seen.events += found;
    events_ += found;
  }
  if (bytes.ends_with(kEnd)) return end(c, true, !c.closes);
  if (c.abandon_after > 0 && seen.events >= c.abandon_after) {
    seen.abandoned = true;
    return end(c, false, false);
  }
  c.tail_bytes = std::min(bytes.size(), c.tail.size());
  std::copy_n(bytes.end() - static_cast<std::ptrdiff_t>(c.tail_bytes), c.tail_bytes, c.tail.begin());
}

void StreamClient::end(Connection& c, bool whole, bool keep) {
  if (c.busy) {
    c.busy = false;
    --active_;
    if (c.seen.events > 0) --streaming_;
    c.seen.whole = whole;
    ended_.push_back(c.seen);
  } else {
    std::erase(idle_, &c);
  }
  if (keep) {
    idle_.push_back(&c);
    return;
  }
  const int fd = c.fd;
  connections_.erase(fd);
  ::close(fd);
}

}  // namespace millrace::bench

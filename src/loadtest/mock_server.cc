#include "loadtest/mock_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <queue>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/counter_rng.h"

namespace millrace::loadtest {
namespace {

constexpr std::string_view kHead =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

std::int64_t nanoseconds(TimePoint at) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(at.time_since_epoch()).count();
}

std::string chunk(std::string_view data) { return fmt::format("{:x}\r\ndata: {}\n\n\r\n", data.size() + 8, data); }

// All connections on one thread, driven by a heap of due events.
class Loop {
 public:
  Loop(const Pace& pace, std::span<std::int64_t> notes, int listener)
      : pace_(pace), notes_(notes), listener_(listener), epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
    watch(listener_);
  }

  [[noreturn]] void run() {
    std::array<epoll_event, 256> ready;
    while (true) {
      const std::int64_t now = nanoseconds(Clock::now());
      write_due(now);
      const std::int64_t left = due_.empty() ? 1'000'000'000 : due_.top().at - nanoseconds(Clock::now());
      const timespec wait{0, std::clamp<std::int64_t>(left, 0, 999'999'999)};
      const int n = ::epoll_pwait2(epoll_, ready.data(), int{ready.size()}, &wait, nullptr);
      for (int i = 0; i < n; ++i) {
        const int fd = ready[static_cast<std::size_t>(i)].data.fd;
        fd == listener_ ? accept() : read(fd);
      }
    }
  }

 private:
  // A stream's next event. The heap holds one a stream, so that it stays small.
  struct Due {
    std::int64_t at = 0, stream = 0, event = 0;
    int fd = -1;
    bool operator>(const Due& other) const noexcept { return at > other.at; }
  };
  struct Stream {
    std::int64_t arrived = 0;
    std::vector<double> script;
    std::string token;  // the chunk of each of its events
  };

  void watch(int fd) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
  void accept() {
    for (int fd; (fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
      const int on = 1;
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      watch(fd);
    }
  }
  void read(int fd) {
    const ssize_t n = ::recv(fd, buffer_.data(), buffer_.size(), 0);
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      unread_.erase(fd);
      ::close(fd);
      return;
    }
    std::string& text = unread_[fd];
    text.append(buffer_.data(), static_cast<std::size_t>(n));
    // The body is one JSON object: whole when its length has come.
    const std::size_t head = text.find("\r\n\r\n");
    if (head == std::string::npos) return;
    constexpr std::string_view kLength = "content-length: ", kStream = R"("user":")";
    if (text.size() < head + 4 + number_after(text, kLength)) return;
    begin(fd, static_cast<std::int64_t>(number_after(text, kStream)));
    text.clear();
  }
  static std::size_t number_after(std::string_view text, std::string_view mark) {
    std::size_t value = 0;
    const std::size_t at = text.find(mark);
    if (at != std::string_view::npos) std::from_chars(text.data() + at + mark.size(), text.data() + text.size(), value);
    return value;
  }
  void begin(int fd, std::int64_t stream) {
    if (stream >= pace_.streams) return;
    const std::int64_t now = nanoseconds(Clock::now());
    note(stream, 0) = now;
    streams_[stream] = {
        now, script_of(pace_, stream),
        chunk(fmt::format(R"({{"id":"{}","object":"text_completion","created":1700000000,"model":"paced",)"
                          R"("choices":[{{"index":0,"text":"a","logprobs":null,"finish_reason":null}}]}})",
                          stream))};
    push_next({.stream = stream, .event = 0, .fd = fd});
  }
  void push_next(Due due) {
    const Stream& stream = streams_[due.stream];
    due.at = stream.arrived + static_cast<std::int64_t>(1e9 * stream.script[static_cast<std::size_t>(due.event)]);
    due_.push(due);
  }
  std::int64_t& note(std::int64_t stream, std::int64_t entry) {
    return notes_[static_cast<std::size_t>(stream * (pace_.events + 1) + entry)];
  }
  void write_due(std::int64_t now) {
    while (!due_.empty() && due_.top().at <= now) {
      const Due due = due_.top();
      due_.pop();
      const bool last = due.event + 1 == pace_.events;
      text_ = due.event == 0 ? kHead : "";
      text_ += streams_[due.stream].token;
      if (last) text_ += end_of(due.stream);
      // These few bytes fit into the buffer of any socket whose client reads; one that does not is out of the game.
      note(due.stream, due.event + 1) = nanoseconds(Clock::now());
      if (::send(due.fd, text_.data(), text_.size(), MSG_NOSIGNAL) < 0) {
        ::shutdown(due.fd, SHUT_RDWR);
      } else if (!last) {
        push_next({.stream = due.stream, .event = due.event + 1, .fd = due.fd});
      }
    }
  }
  std::string end_of(std::int64_t stream) const {
    return chunk(fmt::format(
               R"({{"id":"{}","choices":[],"usage":{{"prompt_tokens":1,"completion_tokens":{},"total_tokens":{}}}}})",
               stream, pace_.events, pace_.events + 1)) +
           chunk("[DONE]") + "0\r\n\r\n";
  }

  const Pace pace_;
  const std::span<std::int64_t> notes_;
  const int listener_, epoll_;
  std::array<char, 65536> buffer_;
  std::unordered_map<int, std::string> unread_;
  std::unordered_map<std::int64_t, Stream> streams_;
  std::string text_;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
};

int listen_on_loopback(int& port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, name, size) != 0 || ::listen(fd, SOMAXCONN) != 0 || ::getsockname(fd, name, &size) != 0) {
    throw_load_error(ErrorCode::kUnavailable, "server", "a socket for the paced server cannot be had");
  }
  port = ntohs(address.sin_port);
  return fd;
}

}  // namespace

std::vector<double> script_of(const Pace& pace, std::int64_t stream) {
  std::vector<double> times(static_cast<std::size_t>(pace.events));
  double at = 0.0;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const double share = 2.0 * rng::uniform(pace.seed, static_cast<std::uint64_t>(stream), i) - 1.0;
    times[i] = at += (i == 0 ? pace.first_s : pace.gap_s) * (1.0 + pace.jitter * share);
  }
  return times;
}

MockServer::MockServer(const Pace& pace) : pace_(pace) {
  const auto entries = static_cast<std::size_t>(pace.streams * (pace.events + 1));
  void* const shared = ::mmap(nullptr, entries * sizeof(std::int64_t), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (shared == MAP_FAILED)
    throw_load_error(ErrorCode::kResourceExhausted, "streams", "no memory for {} notes", entries);
  notes_ = {static_cast<std::int64_t*>(shared), entries};
  const int listener = listen_on_loopback(port_);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::prctl(PR_SET_TIMERSLACK, 1UL);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
    Loop(pace, notes_, listener).run();
  }
  ::close(listener);
  if (pid_ < 0) throw_load_error(ErrorCode::kResourceExhausted, "server", "no process for the paced server");
}

MockServer::~MockServer() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::munmap(notes_.data(), notes_.size_bytes());
}

std::string MockServer::url() const { return fmt::format("http://127.0.0.1:{}", port_); }

std::int64_t MockServer::note(std::int64_t stream, std::int64_t entry) const {
  return notes_[static_cast<std::size_t>(stream * (pace_.events + 1) + entry)];
}
TimePoint MockServer::arrived(std::int64_t stream) const {
  return TimePoint(std::chrono::nanoseconds(note(stream, 0)));
}
TimePoint MockServer::written(std::int64_t stream, std::int64_t event) const {
  return TimePoint(std::chrono::nanoseconds(note(stream, event + 1)));
}

}  // namespace millrace::loadtest

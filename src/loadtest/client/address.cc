#include "loadtest/client/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "base/env.h"
#include "base/result.h"

namespace millrace::loadtest {
namespace {

std::string text_of(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  std::array<char, NI_MAXSERV> port{};
  ::getnameinfo(address, size, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  const bool brackets = address->sa_family == AF_INET6;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", host.data(), brackets ? "]" : "", port.data());
}

std::vector<Address> resolve(const Target& target) {
  std::vector<Address> found;
  if (!target.unix_socket.empty()) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::copy_n(target.unix_socket.data(), std::min(target.unix_socket.size(), sizeof name.sun_path - 1),
                name.sun_path);
    Address& address = found.emplace_back();
    std::memcpy(&address.bytes, &name, sizeof name);
    address.size = sizeof name;
    address.text = target.unix_socket;
    return found;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(target.host.c_str(), std::to_string(target.port).c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
  if (error != 0) {
    throw_load_error(ErrorCode::kUnavailable, "url", "{}: {}", target.host,
                     error == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(error));
  }
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    Address& address = found.emplace_back();
    std::memcpy(&address.bytes, at->ai_addr, at->ai_addrlen);
    address.size = at->ai_addrlen;
    address.text = text_of(at->ai_addr, at->ai_addrlen);
  }
  return found;
}

// 0, or why not.
int try_connect(const Address& address, double seconds) {
  const TimePoint end = Clock::now() + std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
  auto [fd, error] = begin_connect(address);
  if (fd < 0) return error;
  while (error == EAGAIN && Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    error = connect_again(fd, address);
  }
  if (error == EINPROGRESS) {
    pollfd wait{.fd = fd, .events = POLLOUT, .revents = 0};
    socklen_t size = sizeof error;
    if (::poll(&wait, 1, static_cast<int>(seconds * 1e3)) != 1) {
      error = ETIMEDOUT;
    } else if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0) {
      error = errno;
    }
  }
  ::close(fd);
  return error;
}

}  // namespace

int connect_again(int fd, const Address& address) {
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address.bytes), address.size) == 0 ? 0 : errno;
}

Connecting begin_connect(const Address& address) {
  Connecting made;
  made.fd = ::socket(address.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made.fd < 0) {
    made.error = errno;
    return made;
  }
  if (address.bytes.ss_family != AF_UNIX) {
    const int on = 1;
    ::setsockopt(made.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  made.error = connect_again(made.fd, address);
  return made;
}

Address reachable_address(const Target& target, double seconds) {
  std::string tried;
  for (Address& address : resolve(target)) {
    const int error = try_connect(address, seconds);
    if (error == 0) return std::move(address);
    tried += fmt::format("{}{}: {}", tried.empty() ? "" : "; ", address.text, std::strerror(error));
  }
  throw_load_error(ErrorCode::kUnavailable, "url", "the server cannot be reached: {}", tried);
}

}  // namespace millrace::loadtest

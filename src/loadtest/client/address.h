#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "loadtest/target.h"

namespace millrace::loadtest {

// The socket address of a target.
struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  std::string text;  // for people
};

// The first of the target's addresses that accepts connections. Names are only looked up here, so that no lookup is
// measured. Waits up to `seconds` seconds for each address. Throws LoadError naming all that were tried.
Address reachable_address(const Target& target, double seconds = 10.0);

// A new non-blocking socket, and the result of connect(): 0, EINPROGRESS or an error; EAGAIN if the queue of a Unix
// socket is full, then call connect_again(). The caller owns `fd`; -1 if there is none.
struct Connecting {
  int fd = -1, error = 0;
};
Connecting begin_connect(const Address& address);
int connect_again(int fd, const Address& address);  // returns the result of connect(), as Connecting::error

}  // namespace millrace::loadtest

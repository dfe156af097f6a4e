#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "loadtest/target.h"

namespace millrace::loadtest {

// Where a target listens, as the kernel wants to hear it.
struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  std::string text;  // for people
};

// The one of the target's addresses that takes connections: names are looked up here and never again, so that no lookup
// is measured. Waits up to `seconds` for each of them. Throws LoadError naming all that was tried.
Address reachable_address(const Target& target, double seconds = 10.0);

// A new socket that does not block, and what connect() said: 0, EINPROGRESS or an error; EAGAIN where the queue of a
// Unix socket is full: then try again. The caller owns `fd`; -1 where there is none.
struct Connecting {
  int fd = -1, error = 0;
};
Connecting begin_connect(const Address& address);
int connect_again(int fd, const Address& address);  // the error, as above

}  // namespace millrace::loadtest

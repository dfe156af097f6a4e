#pragma once

#include <sys/types.h>

#include <cstdint>

#include "instant_model.h"

namespace millrace::bench {

// A server of the instant model in a process of its own, so that its memory and its processor time are its own too.
class FakeServer {
 public:
  // Ready when this returns. Forks: before the caller has threads. Throws LoadError.
  FakeServer(const InstantConfig& model, int io_threads);
  ~FakeServer();
  FakeServer(const FakeServer&) = delete;
  FakeServer& operator=(const FakeServer&) = delete;

  int port() const noexcept { return port_; }
  std::int64_t resident_bytes() const;
  double cpu_seconds() const;  // of all its threads, since its start
  int threads() const;

 private:
  pid_t pid_ = -1;
  int port_ = 0;
  int alive_ = -1;  // a pipe: closed, the server ends
};

}  // namespace millrace::bench

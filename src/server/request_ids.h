#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "http/message.h"

namespace millrace::server {

// Names of requests, as clients, logs and traces know them. Thread-safe.
class RequestIds {
 public:
  explicit RequestIds(std::uint64_t seed) : next_(seed) {}
  // The client's X-Request-Id where it is one, else a new one.
  std::string of(const http::Request& request);

 private:
  std::atomic<std::uint64_t> next_;
};

}  // namespace millrace::server

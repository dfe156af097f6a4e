#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "http/message.h"

namespace millrace::server {

// Ids of requests, as clients, logs and traces know them. Thread-safe.
class RequestIds {
 public:
  explicit RequestIds(std::uint64_t seed) : next_(seed) {}
  // The client's X-Request-Id if it has 1 to 128 letters, digits, '-', '_' and '.'; else a new id of 16 hex digits. New
  // ids of one object all differ.
  std::string of(const http::Request& request);

 private:
  std::atomic<std::uint64_t> next_;
};

}  // namespace millrace::server

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client/http_client.h"
#include "loadtest/target.h"

namespace millrace::loadtest {

// Fetches small documents of the server under load, such as its metrics. Keeps a connection of its own, apart from
// those of the load. One thread at a time.
class Getter {
 public:
  explicit Getter(const Target& target);
  // The body of GET `path` ("/metrics"; the target's base path only precedes "/v1/..."). kNotFound for status 404;
  // kUnavailable for another status than 200, or if there is no answer within 5 s. Both contain the reply.
  Result<std::string> get(std::string_view path);

 private:
  Target target_;
  std::unique_ptr<http::HttpClient> client_;
};

}  // namespace millrace::loadtest

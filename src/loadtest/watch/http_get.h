#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/client/http_client.h"
#include "loadtest/target.h"

namespace millrace::loadtest {

// Small documents of the server under load: what it serves, its metrics. One thread at a time; keeps its connection,
// which is none of those that carry the load.
class Getter {
 public:
  explicit Getter(const Target& target);
  // The body of GET `path` ("/metrics"; a base path of the target comes before "/v1/..." alone). kNotFound of status
  // 404; kUnavailable of another that is not 200, and where nothing answers within 5 s. Both say what came.
  Result<std::string> get(std::string_view path);

 private:
  Target target_;
  std::unique_ptr<http::HttpClient> client_;
};

}  // namespace millrace::loadtest

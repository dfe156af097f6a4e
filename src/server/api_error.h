#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"

namespace millrace::server {

// The JSON form of errors: OpenAI's or Anthropic's.
enum class Dialect { kOpenAi, kAnthropic };

// An error as clients see it. Its message repeats nothing that the client sent except names and numbers.
struct ApiError {
  int status = 500;
  std::string type = "server_error", code = "internal_error", param, message = "internal error";
  int retry_after = 0;  // seconds; 0 = no Retry-After header

  ApiError() = default;
  // Status by the error's code: 400, 404, 429, 499 or 500.
  ApiError(const Error& error);
  ApiError(int status, std::string code, std::string param, std::string message);

  // {"error": {"message", "type", "param", "code"}} or {"type": "error", "error": {"type", "message"}}
  Json json(Dialect dialect) const;
  http::Reply reply(Dialect dialect) const;
};

}  // namespace millrace::server

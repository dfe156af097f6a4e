#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"

namespace millrace::server {

// The API whose spelling of errors a reply uses.
enum class Dialect { kOpenAi, kAnthropic };

// An error as a client sees it. The message repeats nothing of what the client sent but names and numbers.
struct ApiError {
  int status = 500;
  std::string type = "server_error", code = "internal_error", param, message = "internal error";
  int retry_after = 0;  // header Retry-After in seconds; 0 = no header

  ApiError() = default;
  // Status and code follow from the error's code: 400, 404, 429, 500 or 503.
  ApiError(const Error& error);
  // `type` follows from the status; retry_after is 1 for 429 and 503.
  ApiError(int status, std::string code, std::string param, std::string message);

  // The body: {"error": {"message", "type", "param", "code"}} for kOpenAi, {"type": "error", "error": {"type",
  // "message"}} for kAnthropic.
  Json json(Dialect dialect) const;
  // The reply with this error as its body; its `rejection` is `code`.
  http::Reply reply(Dialect dialect) const;
};

}  // namespace millrace::server

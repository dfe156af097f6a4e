#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"

namespace millrace::server::batch {

// What is wrong with a line that is no request, as the file of results names it.
struct LineError {
  std::string code, message;
};

// A line of OpenAI's batch files: {"custom_id", "method", "url", "body"}.
struct BatchLine {
  Json custom_id;         // a string; null where the line has no usable one
  http::Request request;  // complete only without an error
  LineError error;        // an empty code: no error
};

// Reads one line. The method must be POST, and `url` one of /v1/chat/completions, /v1/completions, /v1/embeddings and
// /v1/responses, without `stream` in the body. Anything wrong sets `error`.
BatchLine read_batch_line(std::string_view text);

// The line {"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error": null} with its newline. The
// body of `reply` must be JSON without line breaks.
std::string reply_line(std::string_view id, const Json& custom_id, const http::Reply& reply);
// The same line with "response": null and "error": {"code", "message"}.
std::string error_line(std::string_view id, const Json& custom_id, const LineError& error);

}  // namespace millrace::server::batch

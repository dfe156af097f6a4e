#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"

namespace millrace::server::batch {

// What is wrong with a line itself, as the file of results names it: the request was never made.
struct LineError {
  std::string code, message;
};

// A line of OpenAI's batch files: {"custom_id", "method", "url", "body"}.
struct BatchLine {
  Json custom_id;         // text; null where the line does not say
  http::Request request;  // to be handled, if there is no error
  LineError error;        // an empty code: none
};

// The routes that a batch may name: those of OpenAI's that answer whole. Anything wrong ends in `error`.
BatchLine read_batch_line(std::string_view text);

// {"id", "custom_id", "response": {"status_code", "request_id", "body"}, "error": null} with its newline. Where there
// is an error, "response" is null.
std::string reply_line(std::string_view id, const Json& custom_id, const http::Reply& reply);
std::string error_line(std::string_view id, const Json& custom_id, const LineError& error);

}  // namespace millrace::server::batch

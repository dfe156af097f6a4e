#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "http/message.h"

namespace millrace::server::batch {

// An error of the line itself, as the file of results shows it. Its request is not sent to a handler.
struct LineError {
  std::string code, message;
};

// A line of OpenAI's batch files: {"custom_id", "method", "url", "body"}.
struct BatchLine {
  Json custom_id;         // a string; null if the line has none
  http::Request request;  // valid if there is no error
  LineError error;        // an empty code: none
};

// Parses a line. A batch may name OpenAI's routes that do not stream. Problems are in `error`.
BatchLine read_batch_line(std::string_view text);

// A line of the file of results, with its newline: {"id", "custom_id", "response": {"status_code", "request_id",
// "body"}, "error": null}. error_line() has an error, and null as response.
std::string reply_line(std::string_view id, const Json& custom_id, const http::Reply& reply);
std::string error_line(std::string_view id, const Json& custom_id, const LineError& error);

}  // namespace millrace::server::batch

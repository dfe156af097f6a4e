#include "server/api_error.h"

#include <utility>

namespace millrace::server {
namespace {

constexpr int kRetryAfter = 1;

std::string type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 429: return "rate_limit_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

// Anthropic has names of its own (its clients map by status, people read the type).
std::string_view anthropic_type_of(int status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 404: return "not_found_error";
    case 413: return "request_too_large";
    case 429: return "rate_limit_error";
    case 503: return "overloaded_error";
    default: return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

std::pair<int, const char*> status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return {400, "invalid_value"};
    case ErrorCode::kContextLength: return {400, "context_length_exceeded"};
    case ErrorCode::kNotFound: return {404, "not_found"};
    case ErrorCode::kUnsupported: return {400, "unsupported"};
    case ErrorCode::kResourceExhausted: return {429, "rate_limit_exceeded"};
    case ErrorCode::kCancelled: return {503, "cancelled"};
    case ErrorCode::kUnavailable: return {503, "unavailable"};
    case ErrorCode::kBadFile:
    case ErrorCode::kInternal: break;
  }
  return {500, "internal_error"};
}

}  // namespace

ApiError::ApiError(int s, std::string c, std::string p, std::string m)
    : status(s), type(type_of(s)), code(std::move(c)), param(std::move(p)), message(std::move(m)) {
  if (status == 429 || status == 503) retry_after = kRetryAfter;
}

ApiError::ApiError(const Error& error)
    : ApiError(status_of(error.code).first, status_of(error.code).second, error.param, error.message) {
  if (error.code == ErrorCode::kNotFound && error.param == "model") code = "model_not_found";
}

Json ApiError::json(Dialect dialect) const {
  if (dialect == Dialect::kAnthropic) {
    return {{"type", "error"}, {"error", {{"type", anthropic_type_of(status)}, {"message", message}}}};
  }
  return {{"error",
           {{"message", message}, {"type", type}, {"param", param.empty() ? Json() : Json(param)}, {"code", code}}}};
}

http::Reply ApiError::reply(Dialect dialect) const {
  http::Reply reply{.status = status, .body = dumped(json(dialect)), .rejection = code};
  if (retry_after > 0) reply.headers.add("retry-after", std::to_string(retry_after));
  if (status == 401) reply.headers.add("www-authenticate", "Bearer");
  return reply;
}

}  // namespace millrace::server

#include "server/batch/batch_line.h"

#include <algorithm>
#include <array>

namespace millrace::server::batch {
namespace {

constexpr std::array<std::string_view, 4> kUrls = {"/v1/chat/completions", "/v1/completions", "/v1/embeddings",
                                                   "/v1/responses"};
constexpr std::size_t kMaxIdBytes = 512;

std::string urls() {
  std::string all;
  for (const std::string_view url : kUrls) all += (all.empty() ? "" : ", ") + std::string(url);
  return all;
}

// The text of a member; null where there is none.
const std::string* text_of(const Json& object, const char* name) {
  const auto it = object.find(name);
  return it == object.end() || !it->is_string() ? nullptr : &it->get_ref<const std::string&>();
}

LineError fill(const Json& line, BatchLine& to) {
  if (!line.is_object()) return {"invalid_json_line", "the line must be a JSON object"};
  const std::string* id = text_of(line, "custom_id");
  if (id == nullptr || id->empty()) return {"missing_required_parameter", "custom_id is required, as a string"};
  if (id->size() > kMaxIdBytes) {
    return {"invalid_custom_id", fmt::format("custom_id has {} bytes: the limit is {}", id->size(), kMaxIdBytes)};
  }
  to.custom_id = *id;
  const std::string* method = text_of(line, "method");
  if (method == nullptr || *method != "POST") return {"invalid_method", "method must be POST"};
  const std::string* url = text_of(line, "url");
  if (url == nullptr || std::ranges::find(kUrls, *url) == kUrls.end()) {
    return {"invalid_url", "url must be one of " + urls()};
  }
  const auto body = line.find("body");
  if (body == line.end() || !body->is_object()) {
    return {"missing_required_parameter", "body is required, as an object"};
  }
  if (const auto stream = body->find("stream"); stream != body->end() && *stream == true) {
    return {"unsupported", "body.stream is true: a batch has no streams"};
  }
  to.request.method = *method;
  to.request.path = *url;
  to.request.body = dumped(*body);
  to.request.headers.add("content-type", "application/json");
  return {};
}

std::string result_line(std::string_view id, const Json& custom_id, std::string_view response, const Json& error) {
  return fmt::format(R"({{"id":{},"custom_id":{},"response":{},"error":{}}})"
                     "\n",
                     json_string(id), dumped(custom_id), response, dumped(error));
}

}  // namespace

BatchLine read_batch_line(std::string_view text) {
  BatchLine out;
  auto parsed = parse_json(text);
  out.error = parsed ? fill(*parsed, out) : LineError{"invalid_json_line", parsed.error().message};
  return out;
}

std::string reply_line(std::string_view id, const Json& custom_id, const http::Reply& reply) {
  // A body is JSON of ours, and has no line breaks.
  const std::string response = fmt::format(R"({{"status_code":{},"request_id":{},"body":{}}})", reply.status,
                                           json_string(reply.headers.get("x-request-id")), reply.body);
  return result_line(id, custom_id, response, nullptr);
}

std::string error_line(std::string_view id, const Json& custom_id, const LineError& error) {
  return result_line(id, custom_id, "null", {{"code", error.code}, {"message", error.message}});
}

}  // namespace millrace::server::batch

#include "http/reply_head.h"

#include <fmt/core.h>

#include <boost/beast/http/status.hpp>
#include <ctime>
#include <iterator>

namespace millrace::http {
namespace {

namespace beast = boost::beast::http;

std::string_view reason_of(int status) {
  const auto known = beast::obsolete_reason(static_cast<beast::status>(status));
  return status == 499 ? std::string_view("Client Closed Request") : std::string_view(known.data(), known.size());
}

// RFC 9110 §5.6.7, made once a second.
const std::string& date() {
  thread_local std::time_t last = 0;
  thread_local std::string text;
  const std::time_t now = std::time(nullptr);
  if (now != last) {
    std::tm utc{};
    ::gmtime_r(&now, &utc);
    char out[40];
    text.assign(out, std::strftime(out, sizeof out, "%a, %d %b %Y %H:%M:%S GMT", &utc));
    last = now;
  }
  return text;
}

}  // namespace

std::string reply_head(const Reply& reply, bool http10, bool stays) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nserver: millrace\r\ndate: {}\r\ncontent-type: {}\r\n", reply.status,
                                 reason_of(reply.status), date(), reply.content_type);
  for (const auto& [name, value] : reply.headers) fmt::format_to(std::back_inserter(head), "{}: {}\r\n", name, value);
  if (reply.status == 204) {  // has no body, and must not say how long it is (RFC 9110 §8.6)
  } else if (!reply.stream) {
    fmt::format_to(std::back_inserter(head), "content-length: {}\r\n", reply.body.size());
  } else if (!http10) {
    head += "transfer-encoding: chunked\r\n";
  }
  if (!stays) head += "connection: close\r\n";
  if (stays && http10) head += "connection: keep-alive\r\n";
  return head += "\r\n";
}

}  // namespace millrace::http

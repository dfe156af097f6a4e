#include "loadtest/client/reply_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <cstdint>

namespace millrace::loadtest {
namespace {

namespace beast = boost::beast;
namespace http = beast::http;
using beast::error_code;
using beast::string_view;

constexpr std::string_view kStart = "HTTP/1.";

}  // namespace

// Keeps what the client asks for, and the last piece of the body.
class ReplyReader::Parser final : public http::basic_parser<false> {
 public:
  Parser() {
    header_limit(kHeadBytes + 1);  // never met: the reader counts
    body_limit(boost::none);
  }

  int status = 0;
  std::string content_type;
  std::string_view piece;

 private:
  void on_request_impl(http::verb, string_view, string_view, int, error_code&) override {}
  void on_response_impl(int code, string_view, int, error_code& error) override {
    status = code;
    if (code < 100) error = http::error::bad_status;
  }
  // Of the transfer codings Beast looks for "chunked" alone, and would take what is compressed below it for the body.
  void on_field_impl(http::field name, string_view, string_view value, error_code& error) override {
    if (name == http::field::content_type && !is_header_done()) content_type = std::string(value);
    if (name == http::field::transfer_encoding && !beast::iequals(value, "chunked")) {
      error = http::error::bad_transfer_encoding;
    }
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view body, error_code&) override {
    piece = {body.data(), body.size()};
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, string_view body, error_code& error) override {
    return on_body_impl(body, error);
  }
  void on_finish_impl(error_code&) override {}
};

ReplyReader::ReplyReader() : parser_(std::make_unique<Parser>()) {}
ReplyReader::~ReplyReader() = default;
ReplyReader::ReplyReader(ReplyReader&&) noexcept = default;
ReplyReader& ReplyReader::operator=(ReplyReader&&) noexcept = default;

ReplyReader::State ReplyReader::state() const noexcept {
  if (!problem_.empty()) return State::kBroken;
  if (parser_->is_done()) return State::kWhole;
  return parser_->is_header_done() ? State::kBody : State::kHead;
}

int ReplyReader::status() const noexcept { return parser_->status; }
const std::string& ReplyReader::content_type() const noexcept { return parser_->content_type; }
bool ReplyReader::keeps_alive() const noexcept { return state() == State::kWhole && parser_->keep_alive(); }

// Bytes that were used: 0 where the parser waits for more.
std::size_t ReplyReader::parse(std::string_view bytes) {
  error_code error;
  const std::size_t used = parser_->put(boost::asio::buffer(bytes), error);
  if (error && error != http::error::need_more) problem_ = "the reply is no valid HTTP/1.1: " + error.message();
  return used;
}

// Begins or continues begun_, up to the end of the line.
void ReplyReader::take_line(std::string_view& bytes) {
  const std::size_t end = std::min(bytes.find('\n'), bytes.size() - 1) + 1;
  const std::size_t n = std::min(end, kHeadBytes - begun_.size());
  begun_ += bytes.substr(0, n);
  bytes.remove_prefix(n);
}

// The parser gets a head as a whole, since it says other things of a part. What begins otherwise than a reply is not
// waited for: another protocol may say no more than a greeting.
void ReplyReader::take_head(std::string_view& bytes) {
  take_line(bytes);
  const bool whole = begun_.ends_with("\n\r\n") || begun_.ends_with("\n\n");
  if (!kStart.starts_with(begun_.substr(0, kStart.size())) || (whole && parse(begun_) < begun_.size())) {
    if (problem_.empty()) problem_ = "the reply is no HTTP/1.1";
  } else if (whole) {
    begun_.clear();
    if (status() == 101) {
      problem_ = "the server changes the protocol";
    } else if (status() < 200) {  // of the reply that follows it says nothing
      parser_ = std::make_unique<Parser>();
    }
  }
}

std::string_view ReplyReader::take(std::string_view& bytes) {
  parser_->piece = {};
  while (!bytes.empty() && !over() && parser_->piece.empty()) {
    if (state() == State::kHead) {
      take_head(bytes);
    } else if (!begun_.empty()) {
      take_line(bytes);
      begun_.erase(0, parse(begun_));
    } else {
      const std::string_view next = bytes.substr(0, kHeadBytes);
      const std::size_t used = parse(next);
      if (used == 0) begun_ = next;
      bytes.remove_prefix(used == 0 ? next.size() : used);
    }
    if (begun_.size() == kHeadBytes && problem_.empty()) {
      problem_ = fmt::format("the head of the reply is longer than {} bytes", kHeadBytes);
    }
  }
  return parser_->piece;
}

void ReplyReader::close() {
  if (over()) return;
  error_code error = http::error::partial_message;
  if (state() == State::kBody) parser_->put_eof(error);
  if (!error) return;
  const bool nothing = state() == State::kHead && begun_.empty();
  problem_ = nothing ? "the connection ended without a reply" : "the connection ended inside the reply";
}

}  // namespace millrace::loadtest

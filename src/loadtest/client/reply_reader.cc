#include "loadtest/client/reply_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

namespace millrace::loadtest {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

// One of "a, b, c".
bool lists(std::string_view value, std::string_view word) {
  while (true) {
    const std::size_t comma = value.find(',');
    if (same_word(trimmed(value.substr(0, comma)), word)) return true;
    if (comma == std::string_view::npos) return false;
    value.remove_prefix(comma + 1);
  }
}

bool parse_number(std::string_view text, int base, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

}  // namespace

void ReplyReader::broken(std::string problem) {
  state_ = State::kBroken;
  problem_ = std::move(problem);
}

// True: `line` is one, without its end. False: more bytes are needed, or the head is too long.
bool ReplyReader::take_line(std::string_view& bytes, std::string& line) {
  const std::size_t end = bytes.find('\n');
  const std::size_t n = end == std::string_view::npos ? bytes.size() : end + 1;
  head_bytes_ += n;
  if (head_bytes_ > kHeadBytes) {
    broken(fmt::format("the head of the reply is longer than {} bytes", kHeadBytes));
    return false;
  }
  line_.append(bytes.substr(0, n));
  bytes.remove_prefix(n);
  if (end == std::string_view::npos) return false;
  line_.pop_back();
  if (line_.ends_with('\r')) line_.pop_back();
  line = std::exchange(line_, {});
  return true;
}

std::string_view ReplyReader::take(std::string_view& bytes) {
  if (state_ == State::kHead) take_head(bytes);
  if (state_ != State::kBody || bytes.empty()) return {};
  return framing_ == Framing::kChunked ? take_chunked(bytes) : take_data(bytes);
}

void ReplyReader::take_head(std::string_view& bytes) {
  std::string line;
  while (state_ == State::kHead && take_line(bytes, line)) {
    if (status_ == 0) {
      read_status(line);
    } else if (line.empty()) {
      end_head();
    } else {
      read_header(line);
    }
  }
}

void ReplyReader::read_status(std::string_view line) {
  std::uint64_t number = 0;
  if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[8] != ' ' ||
      !parse_number(line.substr(9, 3), 10, number) || number < 100 || (line.size() > 12 && line[12] != ' ')) {
    return broken("the reply is no HTTP/1.1");
  }
  status_ = static_cast<int>(number);
  keep_alive_ = line[7] != '0';
}

void ReplyReader::read_header(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) return broken("a header of the reply has no name");
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (same_word(name, "content-length")) {
    std::uint64_t length = 0;
    if (!parse_number(value, 10, length) || (has_length_ && length != left_)) {
      return broken("the reply's content-length is no number");
    }
    has_length_ = true;
    left_ = length;
  } else if (same_word(name, "transfer-encoding")) {
    chunked_ = lists(value, "chunked");
    if (!same_word(value, "chunked")) broken("the reply's transfer-encoding is not understood");
  } else if (same_word(name, "connection")) {
    if (lists(value, "close")) keep_alive_ = false;
  } else if (same_word(name, "content-type")) {
    content_type_ = value;
  }
}

void ReplyReader::end_head() {
  const bool interim = status_ < 200;
  if (status_ == 101) return broken("the server changes the protocol");
  if (interim) {  // its headers say nothing of the reply that follows
    *this = ReplyReader();
    return;
  }
  state_ = State::kBody;
  if (chunked_) {
    framing_ = Framing::kChunked;
    head_bytes_ = 0;
  } else if (has_length_ || status_ == 204 || status_ == 304) {
    framing_ = Framing::kLength;
    if (left_ == 0 || status_ == 204 || status_ == 304) state_ = State::kWhole;
  } else {
    framing_ = Framing::kUntilClose;
    keep_alive_ = false;
  }
}

std::string_view ReplyReader::take_data(std::string_view& bytes) {
  if (framing_ == Framing::kUntilClose) return std::exchange(bytes, {});
  const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, bytes.size()));
  const std::string_view piece = bytes.substr(0, n);
  bytes.remove_prefix(n);
  left_ -= n;
  if (left_ == 0 && framing_ == Framing::kLength) state_ = State::kWhole;
  return piece;
}

std::string_view ReplyReader::take_chunked(std::string_view& bytes) {
  std::string line;
  while (state_ == State::kBody && !bytes.empty()) {
    if (chunk_ == Chunk::kData) {
      const std::string_view piece = take_data(bytes);
      if (left_ == 0) chunk_ = Chunk::kBorder;
      return piece;
    }
    if (!take_line(bytes, line)) break;
    if (chunk_ == Chunk::kTrailers) {
      if (line.empty()) state_ = State::kWhole;
      continue;
    }
    head_bytes_ = 0;
    if (chunk_ == Chunk::kBorder) {
      if (!line.empty()) broken("a chunk of the reply is longer than it says");
      chunk_ = Chunk::kSize;
      continue;
    }
    if (!parse_number(trimmed(std::string_view(line).substr(0, line.find(';'))), 16, left_)) {
      broken("a chunk of the reply has no size");
    } else {
      chunk_ = left_ > 0 ? Chunk::kData : Chunk::kTrailers;
    }
  }
  return {};
}

void ReplyReader::close() {
  if (over()) return;
  if (state_ == State::kBody && framing_ == Framing::kUntilClose) {
    state_ = State::kWhole;
    return;
  }
  broken(status_ == 0 ? "the connection ended without a reply" : "the connection ended inside the reply");
}

}  // namespace millrace::loadtest

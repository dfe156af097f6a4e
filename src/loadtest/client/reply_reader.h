#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace millrace::loadtest {

// Reads one HTTP/1.1 reply from pieces of any size (RFC 9112) with Boost.Beast: its head, then its body with a length,
// in chunks, or up to the end of the connection. Interim replies (100 to 199) are skipped. Never throws. What it says
// does not depend on how the bytes were cut. Stores at most a head.
class ReplyReader {
 public:
  // Limit of status line and headers together, of the line with a chunk's size, and of trailers.
  static constexpr std::size_t kHeadBytes = 64 << 10;

  enum class State { kHead, kBody, kWhole, kBroken };

  ReplyReader();
  ~ReplyReader();
  ReplyReader(ReplyReader&&) noexcept;
  ReplyReader& operator=(ReplyReader&&) noexcept;

  // Consumes bytes and returns the next piece of the body, which points into them; empty if they are used up or the
  // reply has ended. Call it until `bytes` is empty or over() is true.
  std::string_view take(std::string_view& bytes);
  // The connection has ended: this completes a body without a length, and breaks any other reply.
  void close();

  State state() const noexcept;
  bool over() const noexcept { return state() == State::kWhole || state() == State::kBroken; }
  int status() const noexcept;  // 0 before the head has arrived
  const std::string& content_type() const noexcept;
  bool keeps_alive() const noexcept;
  const std::string& problem() const noexcept { return problem_; }  // reason of kBroken, in one line

 private:
  class Parser;
  std::size_t parse(std::string_view bytes);
  void take_line(std::string_view& bytes);
  void take_head(std::string_view& bytes);

  std::unique_ptr<Parser> parser_;
  std::string begun_;  // a head, a chunk's size or trailers of which the end has not come
  std::string problem_;
};

}  // namespace millrace::loadtest

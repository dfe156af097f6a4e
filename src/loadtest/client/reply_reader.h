#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace millrace::loadtest {

// Reads one HTTP/1.1 reply from pieces of any size (RFC 9112): its head, then its body with a length, in chunks, or up
// to the end of the connection. Interim replies (100 to 199) are skipped. Never throws. Linear in the bytes; stores at
// most a head.
class ReplyReader {
 public:
  static constexpr std::size_t kHeadBytes = 64 << 10;  // limit of status line and headers, and of trailers

  enum class State { kHead, kBody, kWhole, kBroken };

  // Consumes bytes and returns the next piece of the body, which points into them; empty if they are used up or the
  // reply has ended. Call it until `bytes` is empty or over() is true.
  std::string_view take(std::string_view& bytes);
  // The connection has ended: this completes a body without a length, and breaks any other reply.
  void close();

  State state() const noexcept { return state_; }
  bool over() const noexcept { return state_ == State::kWhole || state_ == State::kBroken; }
  int status() const noexcept { return status_; }  // 0 before the head has arrived
  const std::string& content_type() const noexcept { return content_type_; }
  bool keeps_alive() const noexcept { return state_ == State::kWhole && keep_alive_; }
  const std::string& problem() const noexcept { return problem_; }  // reason of kBroken, in one line

 private:
  enum class Framing { kLength, kChunked, kUntilClose };
  enum class Chunk { kSize, kData, kBorder, kTrailers };
  bool take_line(std::string_view& bytes, std::string& line);
  void take_head(std::string_view& bytes);
  void read_status(std::string_view line);
  void read_header(std::string_view line);
  void end_head();
  std::string_view take_data(std::string_view& bytes);
  std::string_view take_chunked(std::string_view& bytes);
  void broken(std::string problem);

  State state_ = State::kHead;
  Framing framing_ = Framing::kUntilClose;
  Chunk chunk_ = Chunk::kSize;
  int status_ = 0;
  bool keep_alive_ = true, has_length_ = false, chunked_ = false;
  std::uint64_t left_ = 0;      // of the body or of the chunk
  std::size_t head_bytes_ = 0;  // read so far
  std::string line_;            // begun in an earlier piece
  std::string content_type_, problem_;
};

}  // namespace millrace::loadtest

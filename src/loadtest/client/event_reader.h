#pragma once

#include <string>
#include <string_view>

namespace millrace::loadtest {

// Finds the events of a stream of server-sent events in pieces of any size. Of an event only its data counts: comments
// and other fields are passed over. Lines end with LF or CRLF.
class EventReader {
 public:
  static constexpr std::size_t kEventBytes = 16 << 20;
  static constexpr std::size_t kPadding = 64;  // bytes that may be read behind an event's data, for the JSON parser

  // Takes bytes from the front up to the end of the next event. True: data() holds it, until the next call. False: the
  // bytes are used up, or an event is too long.
  bool next(std::string_view& bytes);
  const std::string& data() const noexcept { return data_; }  // with kPadding bytes of room behind it
  bool too_long() const noexcept { return too_long_; }

 private:
  void take_line(std::string_view line);

  std::string line_;  // begun in an earlier piece
  std::string data_;
  bool has_data_ = false, given_ = false, too_long_ = false;
};

}  // namespace millrace::loadtest
